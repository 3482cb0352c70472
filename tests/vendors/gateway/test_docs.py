"""The example of docs/message-gateway.md runs: it sends, finds and tells what it should."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.messaging.models import (
    CallNotice,
    DeliveryStatus,
    InboundMessage,
    MessageCredentials,
    NumberState,
)
from openslot.domains.messaging.ports import TokenRefused
from openslot.domains.webhooks.rules import new_secret, signed_headers
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import Outbound
from openslot.vendors.gateway.account import Gateway
from openslot.vendors.gateway.notices import read_notice
from tests.vendors.messaging.support import MESSAGE, NUMBER, PHONE

PAGE = Path(__file__).parents[3] / "docs" / "message-gateway.md"
SECRET = new_secret()


@pytest.fixture
def example() -> dict[str, Any]:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    names: dict[str, Any] = {"__name__": "example"}
    exec(found[1], names)
    names["SECRET"] = SECRET
    names["Gateway"].log_message = lambda *_: None
    return names


@pytest.fixture
def url(example: dict[str, Any]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), example["Gateway"])
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_example_sends_each_message_once(
    example: dict[str, Any], url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))
    account = Gateway().open(outbound, MessageCredentials(account=url, token=SECRET))
    assert (await account.check(channel=ConnectionChannel.SMS, number=NUMBER)).number is NumberState.READY
    sent = await account.send(MESSAGE)
    assert await account.send(MESSAGE) == sent
    assert await account.find_sent(MESSAGE, since=datetime.now(UTC)) == await account.get_status(sent.id) == sent
    assert await account.find_sent(replace(MESSAGE, id=new_id()), since=datetime.now(UTC)) is None
    assert sent.status is DeliveryStatus.SENT
    assert capsys.readouterr().out == f"{PHONE} {MESSAGE.body}\n"

    other = Gateway().open(outbound, MessageCredentials(account=url, token=new_secret()))
    with pytest.raises(TokenRefused):
        await other.send(MESSAGE)
    await outbound.close()


def test_the_example_of_a_call_is_read() -> None:
    found = re.search(r"```json\n(.*?)```", (PAGE.parent / "call-notices.md").read_text("utf-8"), re.DOTALL)
    assert found
    now, body = datetime.now(UTC), found[1].encode()
    signed = signed_headers(new_id(), body, secrets=(SECRET,), at=now)
    headers = {name.lower(): value for name, value in signed.items()}
    notice = read_notice(headers, body, secrets=(SECRET,), now=now)
    assert isinstance(notice, CallNotice)
    assert (notice.status, notice.agent_name, notice.duration) == ("completed", "Front desk", timedelta(seconds=184))
    assert {notice.recording, notice.transcript} == {"recordings/7f3a", "transcripts/7f3a"}


async def test_what_the_example_tells_is_read(example: dict[str, Any]) -> None:
    posted: list[Any] = []
    example["urlopen"] = lambda request, timeout: posted.append(request)
    await asyncio.to_thread(
        example["tell"],
        "message.received",
        {"id": "42", "channel": "sms", "from": PHONE, "to": NUMBER, "body": "Yes"},
    )
    headers = {name.lower(): value for name, value in posted[0].header_items()}
    assert read_notice(headers, posted[0].data, secrets=(SECRET,), now=datetime.now(UTC)) == InboundMessage(
        id="42", channel=Channel.SMS, sender=PHONE, recipient=NUMBER, body="Yes"
    )
