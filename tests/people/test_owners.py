"""An event type of a team gets another owner: its upcoming bookings go along, whatever happens at the same moment."""

import asyncio
from datetime import timedelta

import pytest

from openslot.accounts.models import User
from openslot.availability.models import ById
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingWanted, Invitee
from openslot.core.actor import OPERATOR, PUBLIC
from openslot.core.work import Runtime, Work
from openslot.event_types.models import EventType
from openslot.people import team_leavers
from openslot.teams import hosting
from tests.support.clocks import MONDAY, MovingClock, clock
from tests.support.founding import FoundedTeam, add_event_type, found_team
from tests.support.locks import until_waiting
from tests.support.teams import book_team

__all__ = ["clock"]

DAY = timedelta(days=1)
TEN = MONDAY.replace(hour=10) + 2 * DAY


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


@pytest.fixture
async def event_type(runtime: Runtime, founded: FoundedTeam) -> EventType:
    """An event type of the last of the hosts."""
    return await add_event_type(runtime, founded, owner=founded.hosts[2])


async def give(work: Work, founded: FoundedTeam, event_type: EventType, owner: User) -> None:
    await team_leavers.take_over(work, founded.team, event_type, owner)


async def list_owners(runtime: Runtime, event_type: EventType) -> list[tuple[object, object, object]]:
    """List the owners of the event type, and of each booking and its contact."""
    rows = await runtime.pool.fetch(
        """select e.owner_id, b.host_id, c.owner_id as of_contact from bookings b
        join event_types e on e.id = b.event_type_id join contacts c on c.id = b.contact_id
        where e.id = $1 order by b.starts_at""",
        event_type.id,
    )
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("first", ["booking", "take-over"])
async def test_a_booking_at_the_moment_of_a_take_over_belongs_to_the_new_owner(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, first: str
) -> None:
    owner = founded.hosts[1]
    await book_team(runtime, event_type, TEN)

    async def book(work: Work) -> None:
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(event_type.id), starts_at=TEN + timedelta(hours=1), invitee=invitee)
        await bookings.create_booking(work, wanted)

    async def take_over(work: Work) -> None:
        await give(work, founded, event_type, owner)

    one, other = (book, take_over) if first == "booking" else (take_over, book)

    async def come() -> None:
        async with runtime.transaction(PUBLIC if other is book else OPERATOR) as work:
            await other(work)

    async with runtime.transaction(OPERATOR if one is take_over else PUBLIC) as work:
        await hosting.lock_hosting(work, event_type.id)
        coming = asyncio.create_task(come())
        await until_waiting(runtime, 1)
        await one(work)
    await coming

    assert await list_owners(runtime, event_type) == [(owner.id, owner.id, owner.id)] * 2


async def test_what_was_taken_over_meanwhile_goes_to_who_comes_last(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType
) -> None:
    first, second, _ = founded.hosts
    await book_team(runtime, event_type, TEN)

    async def come() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await give(work, founded, event_type, second)

    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, first)
        coming = asyncio.create_task(come())
        await until_waiting(runtime, 1)
    await coming

    assert await list_owners(runtime, event_type) == [(second.id, second.id, second.id)]


async def test_private_notes_are_for_nobody_but_who_has_written_them(
    runtime: Runtime, founded: FoundedTeam, event_type: EventType, clock: MovingClock
) -> None:
    _, second, third = founded.hosts
    past, upcoming = await book_team(runtime, event_type, TEN), await book_team(runtime, event_type, TEN + DAY)
    async with runtime.transaction(OPERATOR) as work:
        for each in (past, upcoming):
            await bookings.write_private_notes(work, third, each.id, "Asked for a discount")
    clock.now = TEN + timedelta(hours=1)

    async with runtime.transaction(OPERATOR) as work:
        # Who is given what they have keeps it all.
        await give(work, founded, event_type, third)
    assert await list_notes(runtime) == [(third.id, "Asked for a discount")] * 2
    async with runtime.transaction(OPERATOR) as work:
        await give(work, founded, event_type, second)

    assert await list_notes(runtime) == [(third.id, "Asked for a discount"), (second.id, None)]


async def list_notes(runtime: Runtime) -> list[tuple[object, object]]:
    rows = await runtime.pool.fetch("select host_id, private_notes from bookings order by starts_at")
    return [tuple(row) for row in rows]
