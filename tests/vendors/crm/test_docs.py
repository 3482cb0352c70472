"""The receiver of docs/crm.md runs: it keeps what every CRM keeps to, as far as it can be asked from outside."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from http.server import ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.crm.models import CrmMeeting, CrmPerson, MeetingOutcome
from openslot.domains.crm.ports import CrmCredentials, CrmMeetingGone, CrmTokenRefused
from openslot.domains.webhooks.rules import new_secret
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.crm_webhook import WebhookCrm, WebhookVendor
from tests.contracts.crm_servers import HOUR, MEETING, NINE, PERSON

PAGE = Path(__file__).parents[3] / "docs" / "crm.md"
SECRET = new_secret()


@pytest.fixture
def example() -> dict[str, Any]:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    names: dict[str, Any] = {"__name__": "example"}
    exec(found[1], names)
    names["SECRET"] = SECRET
    names["Receiver"].log_message = lambda *_: None
    return names


@pytest.fixture
def url(example: dict[str, Any]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), example["Receiver"])
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(allow=(ip_network("127.0.0.0/8"),))
    yield opened
    await opened.close()


def open_crm(outbound: Outbound, url: str, secret: str = SECRET) -> WebhookCrm:
    return WebhookVendor().open(outbound, Settings(), CrmCredentials(account=url, secret=secret))


async def test_the_example_keeps_one_meeting_for_a_booking(
    example: dict[str, Any], url: str, outbound: Outbound
) -> None:
    crm = open_crm(outbound, url)
    assert (await crm.check()).label == "My CRM (127.0.0.1)"
    person_id = await crm.upsert_person(PERSON, key="1")
    assert await crm.upsert_person(replace(PERSON, email="Jonas@Okafor.example"), key="2") == person_id
    id_ = await crm.log_meeting(MEETING, person_id=person_id, key="3")
    assert await crm.log_meeting(MEETING, person_id=person_id, key="3") == id_
    moved = replace(MEETING, starts_at=NINE + HOUR, outcome=MeetingOutcome.RESCHEDULED)
    await crm.change_meeting(id_, moved, key="4")

    (kept,) = example["meetings"].values()
    assert (kept["outcome"], kept["personId"]) == ("rescheduled", person_id)
    assert datetime.fromisoformat(kept["startTime"]) == NINE + HOUR
    assert kept["startTime"].endswith("Z")
    example["meetings"].clear()
    with pytest.raises(CrmMeetingGone):
        await crm.change_meeting(id_, moved, key="5")


async def test_the_example_refuses_another_secret(url: str, outbound: Outbound) -> None:
    with pytest.raises(CrmTokenRefused):
        await open_crm(outbound, url, new_secret()).upsert_person(PERSON, key="1")


@pytest.mark.parametrize("noun", [CrmPerson, CrmMeeting])
def test_every_field_is_documented(noun: type[CrmPerson | CrmMeeting]) -> None:
    text = PAGE.read_text("utf-8")

    assert [name for name in noun.__struct_encode_fields__ if f"`{name}`" not in text] == []
