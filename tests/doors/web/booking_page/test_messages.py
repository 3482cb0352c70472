"""Whether an invitee wants messages: asked only if some are sent, never ticked before, kept as it was shown."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import AsyncMock

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.domains.allowances.models import CauseKind, Cost, CostCause
from openslot.domains.allowances.rules import NETWORKS
from openslot.domains.bookings.strangers import operations as strangers
from openslot.domains.event_types.models import EventType
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import ConnectionChannel
from openslot.domains.reminders import operations as reminders
from openslot.domains.reminders.models import ReminderChannel, ReminderEntry, ReminderMoment
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN, filled
from tests.doors.web.booking_page.visiting import fill, visit
from tests.support.clocks import MovingClock
from tests.support.messaging import insert_number
from tests.support.page import read_page

PHONE = "+4915112345678"
AGREED = re.compile(r'name="messages" value="([^"]+)"')
CONSENT = "select phone, text, source from message_consents where withdrawn_at is null"


async def choose(runtime: Runtime, host: User, *channels: str, minutes: tuple[int, ...] = (60,)) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, host, None, minutes, channels=channels)


@pytest.fixture
async def texting(runtime: Runtime, host: User, intro: EventType) -> None:
    """A host who reminds people by SMS too."""
    await insert_number(runtime, user_id=host.id)
    await choose(runtime, host, "email", "sms")


async def asks(client: httpx2.AsyncClient, path: str = PAGE) -> bool:
    return 'name="messages"' in (await client.get(f"{path}?start={TEN}")).text


async def test_the_page_asks_only_if_the_host_has_a_number_and_the_event_type_sends_messages(
    client: httpx2.AsyncClient, runtime: Runtime, host: User, intro: EventType, clock: MovingClock
) -> None:
    await choose(runtime, host, "email", "sms")
    assert not await asks(client)
    await insert_number(runtime, user_id=host.id, channel=ConnectionChannel.VOICE)
    await insert_number(runtime, user_id=host.id, channel=ConnectionChannel.WHATSAPP)
    assert not await asks(client)
    number = await insert_number(runtime, user_id=host.id)
    assert await asks(client)

    await choose(runtime, host, "email")
    assert not await asks(client)
    await choose(runtime, host, "sms", minutes=())
    assert not await asks(client)
    async with runtime.transaction(OPERATOR) as work:
        thanks = ReminderEntry(moment=ReminderMoment.AFTER, minutes=120, channel=ReminderChannel.SMS)
        await reminders.save_reminder_entry(work, host, intro, None, thanks)
    assert await asks(client)
    # An event type with reminders of its own.
    await choose(runtime, host, "sms")
    async with runtime.transaction(OPERATOR) as work:
        await reminders.delete_reminder_entry(work, host, intro, thanks.name)
        await reminders.set_reminders(work, host, intro, (60,), channels=["email"])
    assert not await asks(client)
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, host, intro, None)
    assert await asks(client)
    async with runtime.transaction(OPERATOR) as work:
        await work.db.execute(
            "update messaging_connections set token = null, disconnected_at = now() where id = $1", number.id
        )
    assert (await connection_store.get(runtime.pool, number.id)).token is None
    assert not await asks(client)


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "pt", "ja", "ar"])
async def test_the_box_is_not_ticked_and_what_it_says_is_kept(
    client: httpx2.AsyncClient, runtime: Runtime, texting: None, language: str
) -> None:
    page = (await client.get(f"{PAGE}?start={TEN}&lang={language}")).text
    (text,) = AGREED.findall(page)
    assert "checked" not in page[page.index('name="messages"') :][:400]
    assert "STOP" in text
    assert page.count(text) == 2
    text = text.replace("&#39;", "'")
    answer = await client.post(f"{PAGE}?lang={language}", data=filled(messages=text, phone="+49 151 12345678"))

    assert answer.status_code == 303, answer.text
    row = await runtime.pool.fetchrow(CONSENT)
    assert row is not None
    assert tuple(row.values()) == (PHONE, text, "booking_page")


@pytest.mark.parametrize("kind", ["confirmed", "requested"])
async def test_who_has_given_too_many_numbers_books_without_messages_and_reads_so(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, texting: None, kind: str
) -> None:
    await runtime.pool.execute("update event_types set requires_confirmation = $1", kind == "requested")
    with unproven(0):
        answer = await client.post(PAGE, data=filled(messages="Send me messages", phone=PHONE))

    assert answer.status_code == 303, answer.text
    page = read_page(await client.get(answer.headers["location"]))
    assert f"No messages are sent to {PHONE}, because too many other numbers were given from your network." in page.text
    assert "You agreed to get messages" not in page.text
    assert await runtime.pool.fetch(CONSENT) == []
    assert await runtime.pool.fetchval("select phone from contacts") is None


async def test_the_api_says_which_phone_gets_no_messages(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, texting: None
) -> None:
    body = {
        "eventTypeId": str(intro.id),
        "startTime": TEN,
        "inviteeName": "Jonas",
        "inviteeEmail": "jonas@okafor.example",
        "inviteeTimezone": "UTC",
        "messageConsent": {"phone": PHONE, "text": "Text me"},
    }
    with unproven(0):
        made = await client.post("/api/bookings", json=body)
    assert (made.status_code, made.json()["noMessagesTo"]) == (200, PHONE)


@contextmanager
def unproven(most: int) -> Iterator[None]:
    """Let everybody, wherever they come from, cause messages to so many numbers."""
    with pytest.MonkeyPatch.context() as patch:
        everybody = CostCause(kind=CauseKind.NETWORK, name="93.184.216.0/24")
        patch.setattr(strangers, "causes_of", AsyncMock(return_value=(everybody,)))
        patch.setitem(NETWORKS, Cost.MESSAGE, most)
        yield


async def test_nothing_is_kept_of_somebody_who_does_not_tick_the_box(
    client: httpx2.AsyncClient, runtime: Runtime, texting: None
) -> None:
    assert (await client.post(PAGE, data=filled(phone=PHONE))).status_code == 303
    assert await runtime.pool.fetchval("select count(*) from message_consents") == 0
    assert await runtime.pool.fetchval("select phone from contacts") is None


@pytest.mark.parametrize("phone", ["", "0151 12345678", "+49 1"])
async def test_a_phone_number_that_is_missing_or_wrong_is_asked_for_at_its_field(
    client: httpx2.AsyncClient, runtime: Runtime, texting: None, phone: str
) -> None:
    answer = await client.post(PAGE, data=filled(messages="Send me messages", phone=phone))

    page = read_page(answer)
    assert answer.status_code == 400
    assert "phone" in page.faults
    assert page.fields["messages"].values == [AGREED.findall(answer.text)[0].replace("&#39;", "'")]
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0


async def test_a_phone_number_that_is_asked_for_already_is_the_one_for_messages(
    client: httpx2.AsyncClient, runtime: Runtime, asking: EventType, texting: None
) -> None:
    page = await client.get(f"/mara/asking?start={TEN}")
    assert 'name="phone"' not in page.text
    assert read_page(page).fields["phone_key"].value == "phone"
    form = filled(messages="Send me messages", phone_key="phone", **{"checks.agree": "on"})
    refused = await client.post("/mara/asking", data=form)
    assert "answers-phone" in read_page(refused).faults
    answer = await client.post("/mara/asking", data={**form, "answers.phone": PHONE})

    assert answer.status_code == 303
    assert await runtime.pool.fetchval("select phone from message_consents") == PHONE


async def test_an_invitee_stops_messages_on_the_page_of_the_booking(
    client: httpx2.AsyncClient, runtime: Runtime, texting: None
) -> None:
    booked = await client.post(PAGE, data=filled(messages="Send me messages", phone=PHONE))
    path = booked.headers["location"].partition("?")[0]
    shown = await client.get(path)
    assert PHONE in read_page(shown).text
    assert "You get no more messages" not in read_page(await client.get(f"{path}?done=stopped")).text
    answer = await client.post(f"{path}/messages")

    assert answer.status_code == 303
    stopped = read_page(await client.get(answer.headers["location"]))
    assert "You get no more messages about this meeting" in stopped.headings
    assert PHONE not in stopped.text
    assert await runtime.pool.fetchrow(CONSENT) is None
    assert (await client.post("/manage/nonsense/messages")).status_code == 404


async def test_the_api_takes_what_the_invitee_agreed_to(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, texting: None
) -> None:
    body = {
        "eventTypeId": str(intro.id),
        "startTime": TEN,
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": "jonas@okafor.example",
        "inviteeTimezone": "Africa/Lagos",
    }
    for consent, field in (
        ({"phone": "0151", "text": "Yes"}, "messageConsent.phone"),
        ({"phone": PHONE, "text": " "}, "messageConsent.text"),
        ({"phone": PHONE}, "messageConsent.text"),
        ({"phone": PHONE, "text": "x" * 1001}, "messageConsent.text"),
        (True, "messageConsent"),
    ):
        refused = await client.post("/api/bookings", json={**body, "messageConsent": consent})
        assert refused.status_code == 400, refused.text
        assert field in refused.text
    given = {"phone": "+49 151 12345678", "text": "Text me"}
    made = await client.post("/api/bookings", json={**body, "messageConsent": given})

    assert made.status_code == 200, made.text
    row = await runtime.pool.fetchrow(CONSENT)
    assert row is not None
    assert tuple(row.values()) == (PHONE, "Text me", "api")


@pytest.mark.parametrize("embedded", ["", "?embed=1"])
async def test_the_phone_number_is_asked_for_when_the_box_is_ticked(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, texting: None, embedded: str
) -> None:
    page = await visit(browser, client, f"{PAGE}{embedded}")
    await page.get_by_role("button", name="Tuesday 17 March, 16 times").click()
    await page.get_by_role("button", name="11:00", exact=True).click()
    phone = page.get_by_label("Phone number")
    await expect(phone).to_be_hidden()
    await fill(page)
    await page.get_by_label("Send me reminders").check()
    await phone.fill(PHONE)
    await page.get_by_role("button", name="Confirm booking").click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible()
    await expect(page.get_by_text("You agreed to get messages")).to_be_visible()

    assert await runtime.pool.fetchval("select source from message_consents") == "booking_page"
    assert await runtime.pool.fetchval("select count(*) from claims where active and kind = 'hold'") == 0
