"""A booking always has its hosts: who was chosen from a group, or the owner of an event type, whom nobody chose."""

import asyncio
from functools import partial

import pytest
from asyncpg.connection import LoggedQuery

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.claims.weeks import judge_weeks, take_weeks
from openslot.domains.availability.models import ById, ClaimedHost
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.handovers import NOT_A_HOST, reassign_booking
from openslot.domains.bookings.models import BookingRef
from openslot.domains.teams.models import HostRole
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import AT, LATER, book, hold
from tests.support.teams import book_team, list_hosts, open_team

TOLD_HOSTS = "select fact -> 'hosts' as hosts from events where subject_id = $1"


def _is_own(hosts: tuple[ClaimedHost, ...], user: User) -> bool:
    """Tell whether the owner is the one host, whom nobody chose."""
    (host,) = hosts
    owner = (user.id, user.no, user.name, None, HostRole.ORGANIZER)
    return (host.user_id, host.host_no, host.name, host.group_id, host.role) == owner and not host.was_chosen


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_the_owner_is_the_one_host_of_what_is_claimed(runtime: Runtime, user: User, seats: int) -> None:
    offered = await offer(runtime, user, "offered", seats=seats)
    held = await hold(runtime, offered)
    async with runtime.transaction(PUBLIC) as work:
        kept = await claims.claim_slot(work, ById(offered.id), AT, hold_id=held.id)
        fresh = await claims.claim_slot(work, ById(offered.id), LATER)
        await work.apply()

    for each in (kept, fresh):
        assert _is_own(each.hosts, user)
        assert each.hosts[0].claim_id == each.claim_id
        assert (each.chosen, each.hold_id) == ((), None)


async def test_the_owner_is_the_one_host_of_every_week(runtime: Runtime, user: User) -> None:
    offered = await offer(runtime, user, "offered", recurring_weeks=4)
    held = await hold(runtime, offered)
    async with runtime.transaction(PUBLIC) as work:
        weeks = await judge_weeks(work, ById(offered.id), AT, weeks=3, hold_id=held.id)
        taken = await take_weeks(work, weeks)
        await work.apply()

    assert all(_is_own(each.hosts, user) for each in taken)
    assert len({each.hosts[0].claim_id for each in taken}) == 3
    assert taken[0].claim_id == held.id


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_a_booking_that_is_read_for_a_change_has_its_owner_as_host_and_events_tell_nobody(
    runtime: Runtime, user: User, seats: int
) -> None:
    booked = await book(runtime, await offer(runtime, user, "offered", seats=seats))
    async with runtime.transaction(PUBLIC) as work:
        details = await bookings.get_booking_for_change(work, BookingRef(booked.id, None))
        await bookings.cancel_booking(work, BookingRef(booked.id, None))

    assert _is_own(details.taken, user)
    assert details.taken[0].claim_id == booked.claim_id
    assert details.hosts == ()
    assert await list_hosts(runtime, booked.id) == []
    told = await runtime.pool.fetch(TOLD_HOSTS, booked.id)
    assert len(told) == 2
    assert {row["hosts"] for row in told} <= {None, "[]"}


async def test_a_booking_is_read_for_a_change_with_all_of_its_hosts_by_one_statement(
    runtime: Runtime, user: User
) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1])])
    alone = await book(runtime, await offer(runtime, user, "offered"))
    together = await book_team(runtime, team.event_type, AT)
    hosts, counts = {}, []
    for booked in (alone, together):
        asked: list[str] = []
        async with runtime.transaction(PUBLIC) as work:
            note = partial(_note, asked)
            work.db.add_query_logger(note)  # type: ignore[attr-defined]
            details = await bookings.get_booking_for_change(work, BookingRef(booked.id, None))
            await asyncio.sleep(0)
            work.db.remove_query_logger(note)  # type: ignore[attr-defined]
        hosts[booked.id] = [each.user_id for each in details.taken]
        counts.append(len(asked))

    assert hosts == {alone.id: [user.id], together.id: await list_hosts(runtime, together.id)}
    # The lock has a statement of its own.
    assert counts == [2, 2]


def _note(asked: list[str], query: LoggedQuery) -> None:
    asked.append(query.query)


async def test_a_host_whom_nobody_chose_can_not_be_replaced(runtime: Runtime, user: User) -> None:
    booked = await book(runtime, await offer(runtime, user, "offered"))
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(Invalid) as refused:
            await reassign_booking(work, BookingRef(booked.id, None), from_user=user.id, to_user=new_id())
    assert refused.value.details == {"fromUser": NOT_A_HOST}
