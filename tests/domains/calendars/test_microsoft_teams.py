"""Microsoft Teams over a Microsoft of our own: a link per booking that follows, one meeting whatever is retried."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Location, LocationKind
from openslot.domains.event_types.ports import NO_MICROSOFT_CALENDAR, NO_TEAMS, Conferences
from openslot.domains.event_types.rules import edition_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.vendors.microsoft.events import PROPERTY
from openslot.vendors.microsoft.teams import MICROSOFT_TEAMS
from tests.domains.calendars.conftest import Book, change, events, read, work_off
from tests.domains.calendars.support import cancel, move
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Fault, FaultKind, Mailbox
from tests.support.fake_microsoft.events import Item
from tests.support.microsoft_host import allow, mailbox, microsoft, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["mailbox", "microsoft", "settings"]

BY_TEAMS = Location(LocationKind.VIDEO_LINK, conference=MICROSOFT_TEAMS)
LINK = "https://teams.microsoft.com/l/meetup-join/"


async def connect(runtime: Runtime, user: User, microsoft: FakeMicrosoft) -> CalendarConnection:
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    assert await sync_connection(runtime, made.id) is None
    return made


async def choose_teams(runtime: Runtime, user: User, *, seats: int = 1) -> EventType:
    """Choose Teams for the host's event type, as the editor does."""
    async with runtime.transaction(OPERATOR) as work:
        found = (await event_types.list_event_types(work, user))[0][0]
        wanted = replace(found, location=BY_TEAMS, seats=seats)
        return await event_types.edit_event_type(work, user, wanted, edition=edition_of(found))


async def wait(runtime: Runtime, clock: MovingClock, *, times: int = 6) -> None:
    """Let the worker go on, a few seconds at a time."""
    for _ in range(times):
        await work_off(runtime, clock)
        clock.pass_time(seconds=10)


def find_item(mailbox: Mailbox, booking: Booking) -> Item:
    items = mailbox.calendars[mailbox.default].items
    return next(each for each in items if each.properties.get(PROPERTY) == booking.uid)


def list_requests(microsoft: FakeMicrosoft) -> list[str]:
    """List the requests that ask for a meeting."""
    return [each.path for each in microsoft.asked if each.method == "PATCH" and "isOnlineMeeting" in each.body]


async def list_offered(runtime: Runtime, user: User) -> dict[str, str]:
    return dict(await runtime.ports.get(Conferences).list_offered(runtime.work(OPERATOR), user.id))


async def test_it_is_offered_only_while_bookings_are_written_to_microsoft(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft
) -> None:
    assert await list_offered(runtime, user) == {}
    with pytest.raises(Invalid) as refused:
        await choose_teams(runtime, user)
    assert set(refused.value.details or ()) == {"location.conference"}

    connection = await connect(runtime, user, microsoft)
    assert await list_offered(runtime, user) == {MICROSOFT_TEAMS: "Microsoft Teams"}
    assert (await choose_teams(runtime, user)).location == BY_TEAMS

    await change(runtime, connection, write_to="")
    assert await list_offered(runtime, user) == {}


async def test_the_link_follows_stays_at_a_reschedule_and_goes_with_the_booking(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    connection = await connect(runtime, user, microsoft)
    await choose_teams(runtime, user)
    booking = await book()
    await work_off(runtime, clock)
    assert (await read(runtime, booking)).location == BY_TEAMS

    await wait(runtime, clock)
    link = (await read(runtime, booking)).location.value
    assert link.startswith(LINK)
    assert find_item(mailbox, booking).fields["location"]["displayName"] == link
    assert len(await events(runtime, "booking.link_added")) == 1

    await move(runtime, booking, 1)
    await wait(runtime, clock)
    await sync_connection(runtime, connection.id)
    item = find_item(mailbox, booking)
    assert (item.fields["isOnlineMeeting"], item.fields["onlineMeeting"]) == (True, {"joinUrl": link})
    assert (item.starts_at, link in item.fields["body"]["content"]) == ((await read(runtime, booking)).starts_at, True)
    assert (await events(runtime, "calendar.change_refused"), len(list_requests(microsoft))) == ([], 1)

    await cancel(runtime, booking)
    await wait(runtime, clock)
    assert mailbox.calendars[mailbox.default].items == []
    assert (await read(runtime, booking)).location == Location(LocationKind.VIDEO_LINK)


async def test_a_group_session_has_one_meeting(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, book: Book
) -> None:
    await connect(runtime, user, microsoft)
    await choose_teams(runtime, user, seats=4)
    made = [await book(name=f"Guest {number}") for number in range(3)]
    await wait(runtime, clock, times=12)

    links = {(await read(runtime, each)).location.value for each in made}
    assert (len(links), len(list_requests(microsoft))) == (1, 1)


async def test_while_the_link_is_missing_nothing_more_is_asked_for(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    await connect(runtime, user, microsoft)
    await choose_teams(runtime, user)
    mailbox.meetings_take = timedelta(seconds=45)
    booking = await book()
    await wait(runtime, clock, times=3)
    assert (await read(runtime, booking)).location == BY_TEAMS
    await wait(runtime, clock, times=13)

    assert len(list_requests(microsoft)) == 1
    assert (await read(runtime, booking)).location.value.startswith(LINK)


@pytest.mark.parametrize("lost", ["PATCH", "GET"])
async def test_a_lost_answer_makes_no_second_meeting(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    book: Book,
    lost: str,
) -> None:
    await connect(runtime, user, microsoft)
    await choose_teams(runtime, user)
    booking = await book()
    places = {"PATCH": "/v1.0/me/events/", "GET": f"/v1.0/me/calendars/{mailbox.default.replace('=', '%3D')}/events/"}
    microsoft.faults += [Fault(FaultKind.LOSE_ANSWER, places[lost], lost)] * 2
    mailbox.meetings_take = timedelta(0)

    await wait(runtime, clock, times=12)

    assert microsoft.faults == []
    assert (await read(runtime, booking)).location.value.startswith(LINK)
    assert len(await events(runtime, "booking.link_added")) == 1


async def test_an_account_without_teams_is_told_at_once_and_keeps_the_booking(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    await connect(runtime, user, microsoft)
    await choose_teams(runtime, user)
    mailbox.calendars[mailbox.default].providers = ["skypeForConsumer"]
    booking = await book()
    await wait(runtime, clock, times=2)

    (told,) = await events(runtime, "booking.link_failed")
    assert (NO_TEAMS.code in told, list_requests(microsoft)) == (True, [])
    assert find_item(mailbox, booking).starts_at == booking.starts_at


async def test_a_host_who_has_disconnected_is_told_why_there_is_no_link(
    runtime: Runtime, user: User, clock: MovingClock, microsoft: FakeMicrosoft, book: Book
) -> None:
    connection = await connect(runtime, user, microsoft)
    await choose_teams(runtime, user)
    await change(runtime, connection, write_to="")
    await book()
    await wait(runtime, clock, times=2)

    (told,) = await events(runtime, "booking.link_failed")
    assert NO_MICROSOFT_CALENDAR.code in told
