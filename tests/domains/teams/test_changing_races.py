"""Changes of whom a team picks its hosts, at the same moment as each other and as bookings: nothing is lost."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import combinations_with_replacement
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.bookings import handovers
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, RollingWindow
from openslot.domains.people import team_leavers
from openslot.domains.teams import hosting
from openslot.domains.teams import operations as teams
from openslot.domains.teams.models import GroupWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.support.clocks import real_clock as clock
from tests.support.founding import FoundedTeam, add_event_type, found_team, pick_of
from tests.support.locks import until_waiting
from tests.support.races import find_disorder, workday
from tests.support.teams import book_team, hold_team

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

__all__ = ["clock"]

# Somebody is listed in a group of a team in which they are not.
STRANGERS = """
select count(*) from host_group_members h join host_groups g on g.id = h.group_id
join event_types e on e.id = g.event_type_id
where h.listed and not exists (select from team_members k where k.team_id = e.team_id and k.user_id = h.user_id)"""


class Stage(Struct, frozen=True, kw_only=True):
    """A team of four with an event type, and a booking of it."""

    runtime: Runtime
    founded: FoundedTeam
    event_type: EventType
    booking: Booking

    @property
    def wishes(self) -> tuple[Sequence[GroupWanted], ...]:
        """Ways to group the hosts, none of which is a part of another."""
        a, b, c, d = self.founded.hosts
        return ((pick_of(1, [a, b]), pick_of(1, [c, d])), (pick_of(2, [a, b, c]), pick_of(1, [d])), (pick_of(1, [b]),))


async def prepare(runtime: Runtime, number: int) -> Stage:
    founded = await found_team(runtime, hosts=4, name=f"Sales {number}", slug=f"harbor{number}")
    event_type = await add_event_type(runtime, founded)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(event_type, booking_window=RollingWindow(120)))
    booking = await book_team(runtime, event_type, workday(1))
    return Stage(runtime=runtime, founded=founded, event_type=event_type, booking=booking)


Writer = Callable[[Stage], Awaitable[object]]


async def regroup(at: Stage) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        wished = random.choice(at.wishes)
        await hosting.change_hosting(work, at.founded.team, at.event_type.id, groups=wished)


async def reweigh(at: Stage) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        member = await teams.get_team_member(work, at.founded.team, at.founded.hosts[0].id)
        await teams.change_team_member(work, replace(member, weight=random.choice([50, 200])))


async def leave(at: Stage) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await team_leavers.leave_team(work, at.founded.team, at.founded.hosts[1])


async def join(at: Stage) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await teams.add_team_member(work, at.founded.team, at.founded.hosts[1].id)


async def book(at: Stage) -> None:
    await book_team(at.runtime, at.event_type, random.choice([workday(0), workday(1)]))


async def hold(at: Stage) -> None:
    await hold_team(at.runtime, at.event_type, workday(0))


async def reassign(at: Stage) -> None:
    query = "select user_id from booking_hosts where booking_id = $1"
    host_id = await at.runtime.pool.fetchval(query, at.booking.id)
    async with at.runtime.transaction(OPERATOR) as work:
        await handovers.reassign_booking(work, BookingRef(at.booking.id, None), from_user=host_id)


async def cancel(at: Stage) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(at.booking.id, None))


CHANGES: tuple[Writer, ...] = (regroup, reweigh, leave, join)
OTHERS: tuple[Writer, ...] = (book, hold, reassign, cancel)


async def come(writer: Writer, at: Stage) -> None:
    await asyncio.sleep(random.random() * 0.006)
    with suppress(Refusal):
        await writer(at)


async def list_groups(runtime: Runtime, event_type: EventType) -> list[tuple[int, set[UUID]]]:
    """List how many are picked of whom, in the order of the groups."""
    rows = await runtime.pool.fetch(
        """select g.pick, array(
            select h.user_id from host_group_members h where h.group_id = g.id and h.listed) as hosts
        from host_groups g where g.event_type_id = $1 order by g.position""",
        event_type.id,
    )
    return [(row["pick"], set(row["hosts"])) for row in rows]


@pytest.mark.rest("lets many write at once")
async def test_no_change_of_a_team_is_lost_beside_another_or_a_booking(runtime: Runtime, postgres_log: Path) -> None:
    pairs = [*combinations_with_replacement(CHANGES, 2), *((one, other) for one in CHANGES for other in OTHERS)]
    for number, (one, other) in enumerate(pairs):
        at = await prepare(runtime, number)
        await asyncio.gather(*(come(each, at) for each in (one, other, one, other)))

        names = f"{one.__name__} and {other.__name__}"
        # A booking keeps its hosts when the groups change, so it may have more or fewer than are picked now.
        assert (await find_disorder(runtime.pool)).keys() <= {"unhosted"}, names
        assert await runtime.pool.fetchval(STRANGERS) == 0, names
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_of_two_who_change_the_groups_at_once_the_later_one_is_followed_as_a_whole(runtime: Runtime) -> None:
    at = await prepare(runtime, 0)
    first, second, _ = at.wishes

    async def change(groups: Sequence[GroupWanted]) -> None:
        async with runtime.transaction(OPERATOR) as work:
            await hosting.change_hosting(work, at.founded.team, at.event_type.id, groups=groups)

    async with runtime.transaction(OPERATOR) as work:
        await hosting.change_hosting(work, at.founded.team, at.event_type.id, groups=first)
        later = asyncio.create_task(change(second))
        await until_waiting(runtime, 1)
    await later

    wanted = [(each.pick, {host.user_id for host in each.hosts}) for each in second]
    assert await list_groups(runtime, at.event_type) == wanted


async def test_who_leaves_while_the_groups_are_changed_is_listed_nowhere(runtime: Runtime) -> None:
    at = await prepare(runtime, 0)
    async with runtime.transaction(OPERATOR) as work:
        await hosting.change_hosting(work, at.founded.team, at.event_type.id, groups=at.wishes[2])
        leaving = asyncio.create_task(leave(at))
        await until_waiting(runtime, 1)
    await leaving
    assert await list_groups(runtime, at.event_type) == [(1, set())]

    at = await prepare(runtime, 1)
    async with runtime.transaction(OPERATOR) as work:
        await team_leavers.leave_team(work, at.founded.team, at.founded.hosts[1])
        regrouping = asyncio.create_task(come(regroup, replace(at)))
        await until_waiting(runtime, 1)
    await regrouping
    assert await runtime.pool.fetchval(STRANGERS) == 0
