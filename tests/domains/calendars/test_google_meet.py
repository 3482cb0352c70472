"""Google Meet over a Google of our own: a link per booking that follows, one conference whatever is retried."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.conferences import DELAYS
from openslot.domains.bookings.models import Booking
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.host_changes import Decision, decide_missing_events
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Location, LocationKind
from openslot.domains.event_types.ports import Conferences
from openslot.domains.event_types.rules import edition_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.vendors.google.meet import GOOGLE_MEET
from tests.domains.calendars.conftest import Book, change, events, read, work_off
from tests.domains.calendars.support import cancel, move
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, Fault, FaultKind, GoogleAccount
from tests.support.google_host import EMAIL, allow, google, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["google", "settings"]

BY_MEET = Location(LocationKind.VIDEO_LINK, conference=GOOGLE_MEET)
FIRST = "https://meet.google.com/aaa-bbbb-c01"


@pytest.fixture
def account(google: FakeGoogle) -> GoogleAccount:
    return google.accounts[EMAIL]


async def connect(runtime: Runtime, user: User, google: FakeGoogle) -> CalendarConnection:
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    assert await sync_connection(runtime, made.id) is None
    return made


async def choose_meet(runtime: Runtime, user: User, *, seats: int = 1) -> EventType:
    """Choose Google Meet for the host's event type, as the editor does."""
    async with runtime.transaction(OPERATOR) as work:
        found = (await event_types.list_event_types(work, user))[0][0]
        wanted = replace(found, location=BY_MEET, seats=seats)
        return await event_types.edit_event_type(work, user, wanted, edition=edition_of(found))


async def wait(runtime: Runtime, clock: MovingClock, *, times: int = 6) -> None:
    """Let the worker go on, a few seconds at a time."""
    for _ in range(times):
        await work_off(runtime, clock)
        clock.pass_time(seconds=10)


def shown(account: GoogleAccount, booking: Booking) -> dict[str, Any]:
    return account.calendars[EMAIL].events[booking.id.hex]


async def list_offered(runtime: Runtime, user: User) -> dict[str, str]:
    return dict(await runtime.ports.get(Conferences).list_offered(runtime.work(OPERATOR), user.id))


async def test_it_is_offered_only_while_bookings_are_written_to_a_google_calendar(
    runtime: Runtime, user: User, google: FakeGoogle
) -> None:
    assert await list_offered(runtime, user) == {}
    with pytest.raises(Invalid) as refused:
        await choose_meet(runtime, user)
    assert set(refused.value.details or ()) == {"location.conference"}

    connection = await connect(runtime, user, google)
    assert await list_offered(runtime, user) == {GOOGLE_MEET: "Google Meet"}
    assert (await choose_meet(runtime, user)).location == BY_MEET

    await change(runtime, connection, write_to="")
    assert await list_offered(runtime, user) == {}


async def test_the_link_follows_stays_at_a_reschedule_and_goes_with_the_booking(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    connection = await connect(runtime, user, google)
    await choose_meet(runtime, user)
    booking = await book()
    assert booking.location == BY_MEET
    await work_off(runtime, clock)
    assert (await read(runtime, booking)).location == BY_MEET

    await wait(runtime, clock)
    assert (await read(runtime, booking)).location == replace(BY_MEET, value=FIRST)
    assert shown(account, booking)["location"] == FIRST
    assert len(await events(runtime, "booking.link_added")) == 1

    await move(runtime, booking, 1)
    await wait(runtime, clock)
    await sync_connection(runtime, connection.id)
    assert (await read(runtime, booking)).location.value == FIRST
    assert shown(account, booking)["conferenceData"]["entryPoints"][1]["uri"] == FIRST
    assert await events(runtime, "calendar.change_refused") == []
    assert len(await events(runtime, "booking.rescheduled")) == 1

    await cancel(runtime, booking)
    await wait(runtime, clock)
    assert shown(account, booking)["status"] == "cancelled"
    assert (await read(runtime, booking)).location == Location(LocationKind.VIDEO_LINK)
    assert account.meetings == 1


async def test_each_booking_has_a_conference_of_its_own(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    first = await book()
    second = await book(first.starts_at + timedelta(hours=2))
    await wait(runtime, clock)

    links = {(await read(runtime, each)).location.value for each in (first, second)}
    assert len(links) == account.meetings == 2


async def test_a_group_session_has_one_conference_also_if_the_first_who_booked_it_cancels(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user, seats=4)
    account.makes_meetings = False
    made = [await book(name=f"Guest {number}") for number in range(3)]
    await wait(runtime, clock, times=1)
    await cancel(runtime, made[0])
    account.makes_meetings = True
    await wait(runtime, clock, times=12)

    assert account.meetings == 1
    assert [(await read(runtime, each)).location.value for each in made] == ["", FIRST, FIRST]
    assert [shown(account, each)["location"] for each in made[1:]] == [FIRST, FIRST]


async def test_while_it_is_pending_nothing_more_is_asked_for(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    account.meetings_take = timedelta(seconds=45)
    booking = await book()
    await wait(runtime, clock, times=16)

    asked = [each for each in google.asked if each.method == "PATCH" and "createRequest" in each.body]
    assert len(asked) == account.meetings == 1
    assert (await read(runtime, booking)).location.value == FIRST


@pytest.mark.parametrize("lost", ["PATCH", "GET"])
async def test_a_lost_answer_makes_no_second_conference(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    google: FakeGoogle,
    account: GoogleAccount,
    book: Book,
    lost: str,
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    booking = await book()
    place = f"/calendar/v3/calendars/{EMAIL.replace('@', '%40')}/events/{booking.id.hex}"
    google.faults += [Fault(FaultKind.LOSE_ANSWER, place, lost)] * 2
    account.meetings_take = timedelta(0)

    await wait(runtime, clock, times=12)

    assert google.faults == []
    assert (await read(runtime, booking)).location.value == FIRST
    assert account.meetings == 1


async def test_a_retry_that_does_not_see_the_first_request_asks_with_the_same_id(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    booking = await book()
    place = f"/calendar/v3/calendars/{EMAIL.replace('@', '%40')}/events/{booking.id.hex}"
    # The event that is read shows no conference, before the request and after it.
    google.faults += [Fault(FaultKind.RAW, place, "GET", status=200, body=b"{}")] * 2
    google.faults.append(Fault(FaultKind.LOSE_ANSWER, place, "PATCH"))
    account.meetings_take = timedelta(seconds=45)

    await wait(runtime, clock, times=16)

    assert google.faults == []
    asked = [each.body for each in google.asked if each.method == "PATCH" and "createRequest" in each.body]
    assert len(asked) == 2
    assert len(set(asked)) == account.meetings == 1
    assert (await read(runtime, booking)).location.value == FIRST


async def test_an_event_that_is_restored_has_its_conference_again(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    connection = await connect(runtime, user, google)
    await choose_meet(runtime, user)
    first = await book()
    made = [first, await book(first.starts_at + timedelta(hours=2))]
    await wait(runtime, clock)
    await sync_connection(runtime, connection.id)
    before = [shown(account, each)["conferenceData"] for each in made]
    for each in made:
        account.remove(EMAIL, each.id.hex)
    await sync_connection(runtime, connection.id)
    async with runtime.transaction(OPERATOR) as work:
        await decide_missing_events(work, user, Decision.RESTORE)
    await wait(runtime, clock)

    assert [shown(account, each)["status"] for each in made] == ["confirmed", "confirmed"]
    assert [shown(account, each)["conferenceData"] for each in made] == before
    assert account.meetings == 2


async def test_a_request_that_fails_is_made_anew_and_the_host_is_told_in_the_end(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    account.makes_meetings = False
    booking = await book()
    for _ in DELAYS:
        await work_off(runtime, clock)
        clock.pass_time(minutes=1)

    told = await events(runtime, "booking.link_failed")
    assert len(told) == 1
    assert "conferences.not_made" in told[0]
    asked = [each for each in google.asked if each.method == "PATCH" and "createRequest" in each.body]
    assert len({each.body for each in asked}) == len(asked) == 4
    assert (await read(runtime, booking)).location == BY_MEET


async def test_a_failure_that_passes_is_followed_by_the_link(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    account.makes_meetings = False
    booking = await book()
    await wait(runtime, clock, times=2)
    account.makes_meetings = True
    await wait(runtime, clock, times=12)

    assert (await read(runtime, booking)).location.value == FIRST
    assert await events(runtime, "booking.link_failed") == []


@pytest.mark.parametrize(("status", "reason"), [(400, "invalid"), (403, "forbidden")])
async def test_an_account_that_may_not_make_conferences_is_told_at_once(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, book: Book, status: int, reason: str
) -> None:
    await connect(runtime, user, google)
    await choose_meet(runtime, user)
    google.refuse_next(status, reason, path="calendars", method="PATCH")
    await book()
    await wait(runtime, clock, times=2)

    assert len(await events(runtime, "booking.link_failed")) == 1


async def test_a_host_who_has_disconnected_is_told_why_there_is_no_link(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, book: Book
) -> None:
    connection = await connect(runtime, user, google)
    await choose_meet(runtime, user)
    await change(runtime, connection, write_to="")
    await book()
    await wait(runtime, clock, times=2)

    (told,) = await events(runtime, "booking.link_failed")
    assert "conferences.no_calendar" in told
