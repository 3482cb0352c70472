"""Files of messages: downloaded through the service by the owner of the thread alone, within limits."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.conversations.models import Channel
from openslot.domains.messaging import inbound
from openslot.domains.messaging.files import LIMITS
from openslot.domains.messaging.models import InboundMessage, MediaRef
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.fake_twilio import FakeAccount, FakeTwilio, serving
from tests.support.host import open_session
from tests.support.messaging import NUMBER, PHONE, insert_number, sid

PICTURE = b"\x89PNG\r\n\x1a\n" + b"0" * 100


@pytest.fixture
async def twilio(clock: MovingClock) -> AsyncIterator[FakeTwilio]:
    async with serving(clock) as running:
        yield running


@pytest.fixture
def settings(settings: Settings, twilio: FakeTwilio) -> Settings:
    return replace(settings, twilio_url=twilio.url, outbound_allow=Networks((ip_network("127.0.0.0/8"),)))


@pytest.fixture
def account(twilio: FakeTwilio) -> FakeAccount:
    return twilio.add_account()


async def receive(runtime: Runtime, user: User, account: FakeAccount, content: bytes, kind: str) -> str:
    """Receive a message with a file, and return where it is shown."""
    number = await insert_number(runtime, user_id=user.id, account=account.sid, token=account.token)
    ref = MediaRef(ref=account.add_file(sid(1, "MM"), content, kind), content_type=kind)
    told = InboundMessage(id=sid(1, "MM"), channel=Channel.SMS, sender=PHONE, recipient=NUMBER, media=(ref,))
    async with runtime.transaction(SYSTEM) as work:
        kept = await inbound.receive(work, number, told)
    assert kept is not None
    return f"/conversations/{kept.conversation_id}/messages/{kept.id}/files/0"


async def test_the_owner_downloads_a_file(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    path = await receive(runtime, user, account, PICTURE, "image/png")

    thread = await member.get(path.partition("/messages/")[0])
    answer = await member.get(path)

    assert f'href="{path}"' in thread.text
    assert "twilio" not in thread.text.lower()
    assert account.sid not in thread.text
    assert (answer.status_code, answer.content) == (200, PICTURE)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_nobody_else_gets_it(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, account: FakeAccount
) -> None:
    path = await receive(runtime, user, account, PICTURE, "image/png")
    anonymous = await client.get(path)
    client.headers.update(await open_session(runtime, stranger))

    assert anonymous.status_code in {302, 303}
    assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/javascript"])
async def test_what_a_browser_runs_is_not_served(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, account: FakeAccount, kind: str
) -> None:
    path = await receive(runtime, user, account, b"<script>alert(1)</script>", kind)

    assert (await member.get(path)).status_code == 404


async def test_what_is_too_large_or_not_there_is_not_served(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    path = await receive(runtime, user, account, b"0" * (LIMITS.max_bytes + 1), "image/png")

    assert (await member.get(path)).status_code == 404
    for other in ("1", "99", "999", "x", "-1"):
        assert (await member.get(path[:-1] + other)).status_code == 404
