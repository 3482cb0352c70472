"""Whichever door books, reschedules or cancels: the host's CRM shows it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.links import manage_token
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmMeeting, CrmWanted, MeetingOutcome
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book
from tests.domains.calendars.conftest import Connect
from tests.doors.every.ways import WAYS, Cancel, Installation
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_crm import WebhookReceiver, receiving_crm
from tests.support.radicale import Radicale

INVITEE = {"inviteeName": "Jonas", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}

Move = Callable[[Installation, str], Awaitable[None]]
BookBy = Callable[[Installation, EventType], Awaitable[httpx2.Response]]


@pytest.fixture
async def receiver(runtime: Runtime, user: User) -> AsyncIterator[WebhookReceiver]:
    """The host's CRM."""
    async with receiving_crm() as made:
        wanted = CrmWanted(vendor="webhook", account=made.url)
        made.secret = (await operations.connect(runtime.work(OPERATOR), user, wanted)).new_secret or ""
        yield made


async def read_crm(installation: Installation, clock: MovingClock, receiver: WebhookReceiver) -> CrmMeeting:
    """Let effects happen, and read the only meeting that the CRM has."""
    await work_off(installation.runtime, clock)
    (seen,) = receiver.state.meetings.values()
    assert receiver.state.added == 1
    return seen.meeting


async def book_by_key(here: Installation, meeting: EventType) -> httpx2.Response:
    body = {"eventTypeSlug": meeting.slug, "startTime": TEN, **INVITEE}
    return await here.client.post("/api/v1/bookings", json=body, headers=here.bearer)


async def book_by_public_api(here: Installation, meeting: EventType) -> httpx2.Response:
    return await here.client.post("/api/bookings", json={"eventTypeId": str(meeting.id), "startTime": TEN, **INVITEE})


async def book_by_booking_page(here: Installation, meeting: EventType) -> httpx2.Response:
    form = {"start": TEN, "tz": "Africa/Lagos", "name": "Jonas Okafor", "email": "jonas@okafor.example"}
    return await here.client.post(f"/{here.user.username}/{meeting.slug}", data=form)


async def book_by_dashboard(here: Installation, meeting: EventType) -> httpx2.Response:
    form = {"type": meeting.slug, "start": TEN, "name": "Jonas", "email": "jonas@okafor.example"}
    await here.submit("/bookings", here.user, **form, timezone="Africa/Lagos")
    return httpx2.Response(201)


@pytest.mark.parametrize("book_by", [book_by_key, book_by_public_api, book_by_booking_page, book_by_dashboard])
async def test_a_booking_of_every_door_is_in_the_crm(
    book_by: BookBy, installation: Installation, meeting: EventType, clock: MovingClock, receiver: WebhookReceiver
) -> None:
    answer = await book_by(installation, meeting)
    assert answer.status_code < 400, answer.text

    found = await read_crm(installation, clock, receiver)
    assert (found.outcome, found.starts_at) == (MeetingOutcome.SCHEDULED, datetime.fromisoformat(TEN))


async def move_by_key(here: Installation, booking_id: str) -> None:
    path, body = f"/api/v1/bookings/{booking_id}/reschedule", {"newStartTime": ELEVEN}
    assert (await here.client.patch(path, json=body, headers=here.bearer)).status_code == 200


async def move_by_public_api(here: Installation, booking_id: str) -> None:
    token = manage_token(here.runtime, UUID(booking_id))
    answer = await here.client.post(f"/api/public/manage/{token}/reschedule", json={"newStartTime": ELEVEN})
    assert answer.status_code == 200, answer.text


async def move_by_manage_page(here: Installation, booking_id: str) -> None:
    token = manage_token(here.runtime, UUID(booking_id))
    assert (await here.client.post(f"/manage/{token}/reschedule", data={"start": ELEVEN})).status_code == 303


async def move_by_dashboard(here: Installation, booking_id: str) -> None:
    await here.submit(f"/bookings/{booking_id}/reschedule", here.user, start=ELEVEN)


async def move_by_agent(here: Installation, booking_id: str) -> None:
    wanted = {"bookingId": booking_id, "newStartTime": ELEVEN, "confirm": True}
    answer = await (await here.agent("orchestrator")).result("reschedule_booking", **wanted)
    assert answer["id"] == booking_id


@pytest.mark.parametrize(
    "move", [move_by_key, move_by_public_api, move_by_manage_page, move_by_dashboard, move_by_agent]
)
async def test_a_change_of_every_door_is_in_the_crm(
    move: Move, installation: Installation, book: Book, clock: MovingClock, receiver: WebhookReceiver
) -> None:
    booking_id = (await book()).json()["bookingId"]
    await read_crm(installation, clock, receiver)
    await move(installation, booking_id)

    found = await read_crm(installation, clock, receiver)
    assert (found.outcome, found.starts_at) == (MeetingOutcome.RESCHEDULED, datetime.fromisoformat(ELEVEN))


@pytest.mark.parametrize("cancel", WAYS, ids=[way.__name__ for way in WAYS])
async def test_a_cancellation_of_every_door_is_in_the_crm(
    cancel: Cancel, installation: Installation, book: Book, clock: MovingClock, receiver: WebhookReceiver
) -> None:
    booking_id = (await book()).json()["bookingId"]
    await read_crm(installation, clock, receiver)
    await cancel(installation, booking_id)

    assert (await read_crm(installation, clock, receiver)).outcome is MeetingOutcome.CANCELLED


async def test_so_is_what_the_host_deletes_from_the_calendar(
    installation: Installation,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    receiver: WebhookReceiver,
) -> None:
    connection = await connect(work_calendar)
    booking_id = (await book()).json()["bookingId"]
    await read_crm(installation, clock, receiver)
    await sync_connection(installation.runtime, connection.id)
    await radicale.send("DELETE", f"{work_calendar}{booking_id}.ics")
    await sync_connection(installation.runtime, connection.id)

    assert (await read_crm(installation, clock, receiver)).outcome is MeetingOutcome.CANCELLED
