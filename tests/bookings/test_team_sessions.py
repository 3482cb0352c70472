"""Group sessions that a team hosts: hosts are chosen for whoever comes first, and all others have the same ones."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.accounts.store import lock_host
from openslot.availability import claims
from openslot.availability.errors import HoldNotFound, SlotUnavailable
from openslot.availability.models import ById
from openslot.availability.operations import explain, list_open
from openslot.bookings import handovers
from openslot.bookings import operations as bookings
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee, Status
from openslot.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.core.db import Db
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType, Limits
from openslot.people import operations as people
from openslot.teams.replay import replay
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder
from tests.support.teams import HostedTeam, book_alone, book_team, hold_team, list_credits, list_hosts, open_team

AT = MONDAY.replace(hour=10)
NOON = MONDAY.replace(hour=12)
LATER = MONDAY.replace(hour=14)
EVENING = MONDAY.replace(hour=16)


async def cancel(runtime: Runtime, booking: Booking, *, by: UUID | None = None) -> None:
    actor = Actor(kind=ActorKind.SESSION, user_id=by) if by else PUBLIC
    async with runtime.transaction(actor) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))


async def reschedule(runtime: Runtime, booking: Booking, to: datetime) -> Booking:
    async with runtime.transaction(PUBLIC) as work:
        return await bookings.reschedule_booking(work, BookingRef(booking.id, None), to)


async def drop(runtime: Runtime, hold_id: UUID) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await claims.drop_hold(work, hold_id)


async def edit(runtime: Runtime, team: HostedTeam, **changes: Any) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        return await event_types.change_event_type(work, replace(team.event_type, **changes))


async def list_starts(runtime: Runtime, event_type: EventType) -> list[datetime]:
    async with runtime.transaction(PUBLIC) as work:
        _, slots, _ = await list_open(work, ById(event_type.id), timezone="UTC", first=AT.date(), last=AT.date())
    return [datetime.fromtimestamp(each, AT.tzinfo) for each in slots.starts]


async def count_claims(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from claims where active"))


async def away(db: Db, user_id: UUID) -> None:
    await db.execute(
        """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
        values ($1, $2, $3, $4, '', $3)""",
        new_id(),
        user_id,
        AT,
        AT + timedelta(hours=1),
    )


async def test_everybody_who_joins_a_session_has_its_hosts_and_nobody_else_is_taken(runtime: Runtime) -> None:
    team = await open_team(runtime, 5, groups=[(2, range(5))], seats=3)
    made = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    (hosts,) = {tuple(await list_hosts(runtime, each.id)) for each in made}
    assert len(hosts) == 2
    assert len({each.claim_id for each in made}) == 1
    assert len({each.seat_id for each in made}) == 3
    assert await count_claims(runtime) == 2
    for other in team.hosts:
        if other.id in hosts:
            with pytest.raises(SlotUnavailable):
                await book_alone(runtime, other, AT)
        else:
            await book_alone(runtime, other, AT)
    assert await find_disorder(runtime.pool) == {}


async def test_two_who_come_first_at_once_are_in_one_session(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=3)
    # Everybody is in the ledger, so that the two do not meet there.
    await book_team(runtime, team.event_type, AT + timedelta(days=1))
    async with runtime.transaction(PUBLIC) as first:
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(team.event_type.id), starts_at=AT, invitee=invitee)
        one = await bookings.create_booking(first, wanted)
        # Another host is free for a session of its own, and nobody can see yet that there is one.
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert (await waiting).claim_id == one.claim_id
    assert await find_disorder(runtime.pool) == {}


async def test_the_hosts_of_a_session_are_judged_again_when_they_are_locked(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=3)
    await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(OPERATOR) as other:
        await lock_host(other.db, team.hosts[0].id)
        await away(other.db, team.hosts[0].id)
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    with pytest.raises(SlotUnavailable):
        await waiting


async def test_a_session_counts_once_however_many_seats_are_booked(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=4)
    await book_team(runtime, team.event_type, AT)
    once = await list_credits(runtime, team)
    for _ in range(3):
        await book_team(runtime, team.event_type, AT)
    assert await list_credits(runtime, team) == once
    assert once != [0, 0]
    # The next session is the other's turn.
    later = await book_team(runtime, team.event_type, LATER)
    assert await list_hosts(runtime, later.id) == [team.hosts[1].id]


async def test_a_full_session_closes_its_start_though_others_are_free(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, seats=2)
    await book_team(runtime, team.event_type, AT)
    assert AT in await list_starts(runtime, team.event_type)
    await book_team(runtime, team.event_type, AT)
    assert AT not in await list_starts(runtime, team.event_type)
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(PUBLIC) as work:
        explained = await explain(work, ById(team.event_type.id), AT)
    assert explained.code == "full"
    assert explained.reasons[0].sentence == "All 2 seats are taken"


async def test_a_session_is_open_while_its_hosts_could_host_it_and_nobody_else_has_to_be_free(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=5, host_total_per_day=1)
    first = await book_team(runtime, team.event_type, AT)
    await book_alone(runtime, team.hosts[1], AT)
    assert AT in await list_starts(runtime, team.event_type)
    assert AT + timedelta(minutes=30) not in await list_starts(runtime, team.event_type)
    await book_team(runtime, team.event_type, AT)
    (host,) = await list_hosts(runtime, first.id)
    await away(runtime.pool, host)
    assert AT not in await list_starts(runtime, team.event_type)
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(PUBLIC) as work:
        explained = await explain(work, ById(team.event_type.id), AT)
    assert [each.sentence for each in explained.reasons] == [
        "A host of the session at this time can't host it any more",
        "Host 0 is out of office",
    ]


async def test_the_explanation_says_who_hosts_the_session_of_a_start(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=2)
    booking = await book_team(runtime, team.event_type, AT)
    hosting = await list_hosts(runtime, booking.id)
    for is_full in (False, True):
        explained = await explain(runtime.work(OPERATOR), ById(team.event_type.id), AT)
        (group,) = explained.groups
        assert [each.sentence for each in group.hosts] == [
            f"{each.name} hosts the session at this time" if each.id in hosting else f"{each.name} is free"
            for each in team.hosts
        ]
        assert [each.sentence for each in explained.reasons] == (["All 2 seats are taken"] if is_full else [])
        if not is_full:
            await book_team(runtime, team.event_type, AT)
    # One of them would not be free for it any more.
    await away(runtime.pool, hosting[0])
    explained = await explain(runtime.work(OPERATOR), ById(team.event_type.id), AT)
    told = {each.name: each.sentence for each in explained.groups[0].hosts}
    name = next(each.name for each in team.hosts if each.id == hosting[0])
    assert told[name] == f"{name} is out of office"


async def test_each_seat_counts_for_the_limits_of_the_event_type(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=5, limits=Limits(per_day=3))
    booked = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    await hold_team(runtime, team.event_type, AT)
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    await cancel(runtime, booked[0])
    await book_team(runtime, team.event_type, AT)


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
    assert (await replay(runtime.work(OPERATOR), team.id)).differences == ()


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


async def test_the_whole_session_is_handed_over(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, seats=3)
    made = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    await cancel(runtime, made.pop())
    before = await list_credits(runtime, team)
    a, b = team.hosts
    for from_, to in ((a, b), (b, a)):
        async with runtime.transaction(OPERATOR) as work:
            await handovers.reassign_booking(work, BookingRef(made[1].id, None), from_user=from_.id, to_user=to.id)
        assert {tuple(await list_hosts(runtime, each.id)) for each in made} == {(to.id,)}
    assert await list_credits(runtime, team) == before
    told = await runtime.pool.fetch(
        "select subject_id, count(*) from events where type = 'booking.reassigned' group by subject_id"
    )
    assert {row["subject_id"]: row["count"] for row in told} == {each.id: 2 for each in made}
    sequences = await runtime.pool.fetch("select sequence from bookings where status = 'CONFIRMED'")
    assert [row["sequence"] for row in sequences] == [2, 2]
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("replaces", [True, False])
async def test_a_host_who_leaves_is_replaced_for_the_whole_session(runtime: Runtime, replaces: bool) -> None:
    team = await open_team(runtime, 2, seats=3, replaces_leavers=replaces)
    made = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, team.organization, team.hosts[0])
    async with runtime.transaction(OPERATOR) as work:
        now = [(await bookings.get_booking(work, BookingRef(each.id, None))).booking.status for each in made]
    if replaces:
        assert set(now) == {Status.CONFIRMED}
        assert {tuple(await list_hosts(runtime, each.id)) for each in made} == {(team.hosts[1].id,)}
    else:
        assert set(now) == {Status.CANCELLED}
        assert await count_claims(runtime) == 0
    assert await find_disorder(runtime.pool) == {}


async def test_a_session_to_which_nobody_came_counts_as_the_team_says(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 2, seats=3, counts_no_shows=False)
    before = await list_credits(runtime, team)
    one, two = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    counted = await list_credits(runtime, team)
    clock.now = AT + timedelta(minutes=5)
    for booking, no_show, expected in (
        (one, True, counted),
        (two, True, before),
        (one, False, counted),
        (one, True, before),
        (two, False, counted),
    ):
        async with runtime.transaction(OPERATOR) as work:
            await bookings.mark_no_show(work, BookingRef(booking.id, None), no_show=no_show)
        assert await list_credits(runtime, team) == expected


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


async def test_a_booking_of_its_own_joins_a_session(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    alone = await book_team(runtime, team.event_type, AT)
    await edit(runtime, team, seats=2)
    session = await book_team(runtime, team.event_type, LATER)
    counted = await list_credits(runtime, team)
    moved = await reschedule(runtime, alone, LATER)
    assert (moved.claim_id, moved.seat_id is not None) == (session.claim_id, True)
    assert await list_hosts(runtime, alone.id) == await list_hosts(runtime, session.id)
    assert await list_credits(runtime, team) != counted
    assert await count_claims(runtime) == 1
    assert await find_disorder(runtime.pool) == {}


async def test_past_sessions_outlive_a_host_whose_account_is_erased(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 2, seats=3)
    made = [await book_team(runtime, team.event_type, AT) for _ in range(2)]
    host = team.hosts[0]
    clock.pass_time(days=2)
    async with runtime.transaction(OPERATOR) as work:
        while await bookings.erase_some(work, host.id, 10) or await claims.erase_some(work, host, 10):
            pass
        await work.db.execute("delete from users where id = $1", host.id)
        kept = [(await bookings.get_booking(work, BookingRef(each.id, team.owner.id))).booking for each in made]
    assert {each.status for each in kept} == {Status.CONFIRMED}
    assert len({each.claim_id for each in kept}) == 1
