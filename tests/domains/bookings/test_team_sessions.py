"""Group sessions that a team hosts: hosts are chosen for whoever comes first, and all others have the same ones."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from openslot.domains.accounts.store import lock_host
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ById
from openslot.domains.availability.operations import explain_start_time, list_open_slots
from openslot.domains.bookings import handovers
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee, Status
from openslot.domains.event_types.models import EventType, Limits
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.db import Db
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.team_sessions import AT, LATER, cancel, count_claims, edit, reschedule
from tests.support.clocks import MovingClock
from tests.support.races import find_disorder
from tests.support.teams import book_alone, book_team, hold_team, list_credits, list_hosts, open_team


async def list_starts(runtime: Runtime, event_type: EventType) -> list[datetime]:
    async with runtime.transaction(PUBLIC) as work:
        _, slots, _ = await list_open_slots(work, ById(event_type.id), timezone="UTC", first=AT.date(), last=AT.date())
    return [datetime.fromtimestamp(each, AT.tzinfo) for each in slots.starts]


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
        explained = await explain_start_time(work, ById(team.event_type.id), AT)
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
        explained = await explain_start_time(work, ById(team.event_type.id), AT)
    assert [each.sentence for each in explained.reasons] == [
        "A host of the session at this time can't host it any more",
        "Host 0 is out of office",
    ]


async def test_the_explanation_says_who_hosts_the_session_of_a_start(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, range(3))], seats=2)
    booking = await book_team(runtime, team.event_type, AT)
    hosting = await list_hosts(runtime, booking.id)
    for is_full in (False, True):
        explained = await explain_start_time(runtime.work(OPERATOR), ById(team.event_type.id), AT)
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
    explained = await explain_start_time(runtime.work(OPERATOR), ById(team.event_type.id), AT)
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
        while await bookings.erase_some_bookings(work, host, 10) or await claims.erase_some_claims(work, host, 10):
            pass
        await work.db.execute("delete from users where id = $1", host.id)
        kept = [(await bookings.get_booking(work, BookingRef(each.id, team.owner.id))).booking for each in made]
    assert {each.status for each in kept} == {Status.CONFIRMED}
    assert len({each.claim_id for each in kept}) == 1
