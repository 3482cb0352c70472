"""A team's booking in the calendar of each of its hosts, also after it was handed over and back."""

from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.calendars import booking_events, host_changes
from openslot.domains.calendars.host_changes import Decision
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Connect, events, read, work_off
from tests.domains.calendars.support import move_in_calendar, shown
from tests.support.clocks import MovingClock
from tests.support.radicale import Radicale
from tests.support.team_bookings import add_people, book_with, hand_over, join, offer_as_team

AT = NINE + HOUR


class Host:
    """A host, and the calendar that receives their bookings."""

    def __init__(self, user: User, place: str, connection: CalendarConnection) -> None:
        self.user, self.place, self.connection = user, place, connection


@pytest.fixture
async def demo(runtime: Runtime, user: User) -> EventType:
    return await offer_as_team(runtime, user)


@pytest.fixture
async def owners_calendar(radicale: Radicale, work_calendar: str, connect: Connect) -> str:
    """The calendar of Mara, who owns the event type and hosts none of it."""
    await connect(work_calendar)
    return work_calendar


@pytest.fixture
async def hosts(
    runtime: Runtime, radicale: Radicale, owners_calendar: str, connect: Connect, demo: EventType
) -> list[Host]:
    found, people = [], await add_people(runtime, "Ana", "Jim")
    await join(runtime, demo, people)
    for each in people:
        place = await radicale.add_calendar(each.name)
        found.append(Host(each, place, await connect(place, owner=each)))
    return found


async def names(radicale: Radicale, *hosts: Host) -> list[int]:
    return [len(await radicale.names(each.place)) for each in hosts]


async def describe(radicale: Radicale, host: Host, booking: Booking) -> Any:
    return await shown(radicale, host.place, booking)


async def test_every_host_has_it_in_their_calendar_and_the_owner_has_not(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType, owners_calendar: str
) -> None:
    booking = await book_with(runtime, demo, [each.user for each in hosts], AT)
    await work_off(runtime, clock)

    for each in hosts:
        event = await describe(radicale, each, booking)
        assert (str(event["uid"]), event.decoded("dtstart")) == (booking.uid, AT)
        assert str(event["organizer"]) == f"mailto:{each.user.email}"
        assert "Ana · Jim" in str(event["description"])
    assert await radicale.names(owners_calendar) == []


async def test_a_handover_removes_it_from_one_calendar_and_writes_it_to_the_other(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType
) -> None:
    """Cal.com #11547 and #12341: the wrong calendar was written to, and the former host kept the event."""
    ana, jim = hosts
    booking = await book_with(runtime, demo, [ana.user], AT)
    await work_off(runtime, clock)
    assert await names(radicale, ana, jim) == [1, 0]

    await hand_over(runtime, booking, [jim.user])
    await work_off(runtime, clock)

    assert await names(radicale, ana, jim) == [0, 1]
    event = await describe(radicale, jim, booking)
    assert (str(event["uid"]), event["sequence"]) == (booking.uid, 1)


@pytest.mark.rest("another change of who hosts a booking")
@pytest.mark.parametrize("reads_between", [False, True])
async def test_a_booking_that_is_handed_over_and_back_is_in_the_first_calendar_again(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType, reads_between: bool
) -> None:
    """Cal.com PR 24474 and PR 17768: the event was not written a second time."""
    ana, jim = hosts
    booking = await book_with(runtime, demo, [ana.user], AT)
    for user in (jim.user, ana.user):
        await work_off(runtime, clock)
        if reads_between:
            for each in hosts:
                await sync_connection(runtime, each.connection.id)
        await hand_over(runtime, booking, [user])
    await work_off(runtime, clock)

    assert await names(radicale, ana, jim) == [1, 0]
    event = await describe(radicale, ana, booking)
    assert (str(event["uid"]), event["sequence"]) == (booking.uid, 2)


async def test_handing_over_and_back_at_once_leaves_one_event(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType
) -> None:
    ana, jim = hosts
    booking = await book_with(runtime, demo, [ana.user], AT)
    await hand_over(runtime, booking, [jim.user])
    await hand_over(runtime, booking, [ana.user])
    await work_off(runtime, clock)

    assert await names(radicale, ana, jim) == [1, 0]


async def test_the_own_event_of_a_host_is_no_other_appointment(
    runtime: Runtime, clock: MovingClock, hosts: list[Host], demo: EventType
) -> None:
    booking = await book_with(runtime, demo, [each.user for each in hosts], AT)
    await work_off(runtime, clock)
    for each in hosts:
        await sync_connection(runtime, each.connection.id)

    spans = await runtime.pool.fetch("select of_claim from busy_spans")
    claims = await runtime.pool.fetch("select claim_id from booking_hosts where booking_id = $1", booking.id)
    assert {row["of_claim"] for row in spans} <= {row["claim_id"] for row in claims}


async def test_a_host_who_is_not_the_organizer_does_not_move_it_in_the_calendar(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType
) -> None:
    _, jim = hosts
    booking = await book_with(runtime, demo, [each.user for each in hosts], AT)
    await work_off(runtime, clock)
    await move_in_calendar(radicale, jim.place, booking, start="130000", end="133000")
    await sync_connection(runtime, jim.connection.id)

    assert (await read(runtime, booking)).starts_at == AT
    (told,) = await events(runtime, "calendar.change_refused")
    assert "calendars.not_organizer" in told


@pytest.mark.rest("another change of who hosts a booking")
@pytest.mark.parametrize("is_member", [True, False])
async def test_an_organizer_who_has_left_the_organization_changes_nothing_by_their_calendar(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType, is_member: bool
) -> None:
    ana = hosts[0]
    moved, removed = [await book_with(runtime, demo, [ana.user], AT + hours * HOUR) for hours in (0, 4)]
    await work_off(runtime, clock)
    await runtime.pool.execute("update memberships set active = $2 where user_id = $1", ana.user.id, is_member)
    await move_in_calendar(radicale, ana.place, moved, start="130000", end="133000")
    await radicale.send("DELETE", f"{ana.place}{removed.id}.ics")
    await sync_connection(runtime, ana.connection.id)

    is_on = (await read(runtime, removed)).status is Status.CONFIRMED
    # This team has no group of hosts, so that a move which is followed is refused.
    answered = await events(runtime, "calendar.change_refused")
    assert (is_on, len(answered)) == ((False, 1) if is_member else (True, 0))


async def test_who_deletes_the_event_is_asked_and_the_others_keep_the_booking(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, hosts: list[Host], demo: EventType
) -> None:
    ana, jim = hosts
    booking = await book_with(runtime, demo, [each.user for each in hosts], AT)
    await work_off(runtime, clock)
    await radicale.send("DELETE", f"{ana.place}{booking.id}.ics")
    await sync_connection(runtime, ana.connection.id)
    await work_off(runtime, clock)

    assert (await read(runtime, booking)).status is Status.CONFIRMED
    assert await names(radicale, ana, jim) == [0, 1]
    (told,) = await events(runtime, "calendar.change_refused")
    assert "calendars.several_hosts" in told
    (asked,) = await host_changes.list_missing_events(runtime.work(OPERATOR), ana.user)
    assert asked.booking_id == booking.id

    async with runtime.transaction(OPERATOR) as work:
        await host_changes.decide_missing_events(work, ana.user, Decision.RESTORE)
    await work_off(runtime, clock)
    assert await names(radicale, ana, jim) == [1, 1]


async def test_the_feed_of_a_host_has_what_they_host_and_nothing_else(
    runtime: Runtime, user: User, hosts: list[Host], demo: EventType
) -> None:
    ana, jim = hosts
    booking = await book_with(runtime, demo, [ana.user], AT)

    fed = [await booking_events.write_bookings(runtime.work(OPERATOR), each) for each in (ana.user, jim.user, user)]
    assert [booking.uid.encode() in each for each in fed] == [True, False, False]
