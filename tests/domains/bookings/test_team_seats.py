"""Seats of a team's session: one that is cancelled, held or moved takes nobody else's place and none of its hosts."""

from uuid import UUID

import pytest

from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import HoldNotFound, SlotUnavailable
from openslot.domains.teams.replay import replay_choices
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.domains.bookings.team_sessions import AT, LATER, cancel, count_claims, edit, reschedule
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder
from tests.support.teams import book_alone, book_team, hold_team, list_credits, list_hosts, open_team

NOON = MONDAY.replace(hour=12)
EVENING = MONDAY.replace(hour=16)


async def drop(runtime: Runtime, hold_id: UUID) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await claims.drop_slot_hold(work, hold_id)


async def test_a_cancelled_seat_leaves_the_session_and_the_last_one_frees_hosts_and_credit(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=3)
    before = await list_credits(runtime, team)
    one, two = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    counted = await list_credits(runtime, team)
    await cancel(runtime, one)
    assert await list_credits(runtime, team) == counted
    assert len(await list_hosts(runtime, two.id)) == 2
    assert await find_disorder(runtime.pool) == {}
    await cancel(runtime, two)
    assert await list_credits(runtime, team) == before
    assert await count_claims(runtime) == 0
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("counts", [True, False])
async def test_the_last_cancellation_decides_whether_a_session_counts(runtime: Runtime, counts: bool) -> None:
    team = await open_team(runtime, 2, seats=3, counts_host_cancellations=counts)
    before = await list_credits(runtime, team)
    one, two = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    counted = await list_credits(runtime, team)
    (host,) = await list_hosts(runtime, one.id)
    await cancel(runtime, one)
    await cancel(runtime, two, by=host)
    assert await list_credits(runtime, team) == (counted if counts else before)


async def test_a_held_seat_opens_a_session_that_others_can_join(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=2)
    before = await list_credits(runtime, team)
    held = await hold_team(runtime, team.event_type, AT)
    counted = await list_credits(runtime, team)
    assert counted != before
    joined = await book_team(runtime, team.event_type, AT)
    with pytest.raises(SlotUnavailable):
        await hold_team(runtime, team.event_type, AT)
    kept = await book_team(runtime, team.event_type, AT, hold_id=held.id)
    assert (kept.claim_id, kept.seat_id) == (joined.claim_id, held.id)
    assert await list_hosts(runtime, kept.id) == await list_hosts(runtime, joined.id)
    assert await list_credits(runtime, team) == counted
    assert await runtime.pool.fetchval("select count(*) from held_hosts") == 0
    assert await find_disorder(runtime.pool) == {}


async def test_a_session_that_is_only_held_ends_with_its_last_hold(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=3)
    before = await list_credits(runtime, team)
    first = await hold_team(runtime, team.event_type, AT)
    clock.pass_time(minutes=6)
    second = await hold_team(runtime, team.event_type, AT)
    clock.pass_time(minutes=6)
    # The first has expired: the hosts are kept for the second.
    host = await runtime.pool.fetchval("select user_id from held_hosts limit 1")
    with pytest.raises(SlotUnavailable):
        await book_alone(runtime, next(each for each in team.hosts if each.id == host), AT)
    with pytest.raises(HoldNotFound):
        await drop(runtime, first.id)
    await drop(runtime, second.id)
    assert await list_credits(runtime, team) == before
    assert await count_claims(runtime) == 0
    held = await hold_team(runtime, team.event_type, AT)
    clock.pass_time(minutes=11)
    await book_team(runtime, team.event_type, AT)
    with pytest.raises(HoldNotFound):
        await drop(runtime, held.id)
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("booked", [True, False])
async def test_a_session_whose_bookings_are_cancelled_is_kept_for_who_holds_a_seat(
    runtime: Runtime, clock: MovingClock, booked: bool
) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=3)
    before = await list_credits(runtime, team)
    booking = await book_team(runtime, team.event_type, AT)
    hosts, counted = await list_hosts(runtime, booking.id), await list_credits(runtime, team)
    held = await hold_team(runtime, team.event_type, AT)
    await cancel(runtime, booking)
    assert await list_credits(runtime, team) == counted
    if booked:
        kept = await book_team(runtime, team.event_type, AT, hold_id=held.id)
        assert await list_hosts(runtime, kept.id) == hosts
        assert await list_credits(runtime, team) == counted
    else:
        clock.pass_time(minutes=11)
        later = await book_team(runtime, team.event_type, LATER)
        await cancel(runtime, later)
        assert await list_credits(runtime, team) == before
    assert await find_disorder(runtime.pool) == {}


async def test_a_seat_moves_alone_and_the_others_stay_where_they_are(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=3)
    one, two = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    moved = await reschedule(runtime, one, LATER)
    assert (moved.claim_id != two.claim_id, moved.uid, moved.sequence) == (True, one.uid, 1)
    assert await list_hosts(runtime, two.id) == [team.hosts[0].id]
    # A new session has hosts of its own, by the rule.
    assert await list_hosts(runtime, one.id) == [team.hosts[1].id]
    assert await list_credits(runtime, team) == [0, 0]
    back = await reschedule(runtime, moved, AT)
    assert back.claim_id == two.claim_id
    assert await list_hosts(runtime, one.id) == [team.hosts[0].id]
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 1
    assert await find_disorder(runtime.pool) == {}


async def test_a_seat_keeps_its_hosts_if_the_team_does_not_pick_anew(runtime: Runtime) -> None:
    team = await open_team(runtime, 4, groups=[(1, [0, 1]), (1, [2, 3])], seats=3, picks_anew=False)
    one, two, three = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    hosts = await list_hosts(runtime, one.id)
    other = await book_team(runtime, team.event_type, LATER)
    assert set(await list_hosts(runtime, other.id)).isdisjoint(hosts)
    busy = next(each for each in team.hosts if each.id == hosts[1])
    await book_alone(runtime, busy, EVENING)
    for refused in (LATER, EVENING):
        # The session of others, and a time at which only others are free for a session.
        with pytest.raises(SlotUnavailable):
            await reschedule(runtime, one, refused)
        assert (await list_hosts(runtime, one.id), await list_hosts(runtime, two.id)) == (hosts, hosts)
    counted = await list_credits(runtime, team)
    moved = await reschedule(runtime, one, NOON)
    joined = await reschedule(runtime, two, NOON)
    assert (moved.claim_id != three.claim_id, joined.claim_id) == (True, moved.claim_id)
    for each in (one, two, three):
        assert await list_hosts(runtime, each.id) == hosts
    # Nobody else could have been chosen, so nobody else has earned anything.
    assert await list_credits(runtime, team) == counted
    with pytest.raises(SlotUnavailable):
        await reschedule(runtime, other, AT)
    assert await find_disorder(runtime.pool) == {}
    assert (await replay_choices(runtime.work(OPERATOR), team.id)).differences == ()


async def test_who_sits_alone_moves_with_the_hosts(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=3)
    booking = await book_team(runtime, team.event_type, AT)
    hosts, counted = await list_hosts(runtime, booking.id), await list_credits(runtime, team)
    moved = await reschedule(runtime, booking, LATER)
    assert (moved.claim_id, moved.seat_id) == (booking.claim_id, booking.seat_id)
    assert await list_hosts(runtime, booking.id) == hosts
    joined = await book_team(runtime, team.event_type, LATER)
    assert joined.claim_id == booking.claim_id
    assert await list_credits(runtime, team) == counted
    assert await find_disorder(runtime.pool) == {}


async def test_seats_that_are_raised_or_lowered_hold_for_who_comes_next(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=2)
    first = await book_team(runtime, team.event_type, AT)
    held = await hold_team(runtime, team.event_type, AT)
    await edit(runtime, team, seats=1)
    # Who holds a seat keeps it; anybody else has hosts of their own.
    assert (await book_team(runtime, team.event_type, AT, hold_id=held.id)).claim_id == first.claim_id
    alone = await book_team(runtime, team.event_type, AT)
    assert (alone.seat_id, await list_hosts(runtime, alone.id)) == (None, [team.hosts[1].id])
    await edit(runtime, team, seats=3)
    joined = await book_team(runtime, team.event_type, AT)
    assert joined.claim_id == first.claim_id
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    assert await find_disorder(runtime.pool) == {}
