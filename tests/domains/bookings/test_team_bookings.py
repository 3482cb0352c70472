"""Bookings of a team: a claim for every host, the next host when one is taken, and what becomes of them afterwards."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from asyncpg.connection import LoggedQuery
from msgspec.structs import replace

from openslot.domains.accounts.store import lock_host, update_left
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import DayHoldLimitExceeded, HoldNotFound, SlotUnavailable
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.event_types.models import Limits
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder
from tests.support.teams import book_alone, book_team, hold_team, list_credits, list_hosts, offer, open_team

AT = MONDAY.replace(hour=10)
LATER = MONDAY.replace(hour=14)
BOTH = [(1, [0]), (1, [1])]


async def test_every_host_of_a_booking_has_a_claim(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=BOTH)
    booking = await book_team(runtime, team.event_type, AT)
    assert await list_hosts(runtime, booking.id) == [team.hosts[0].id, team.hosts[1].id]
    for place in (0, 1):
        with pytest.raises(SlotUnavailable):
            await book_alone(runtime, team.hosts[place], AT)
    await book_alone(runtime, team.hosts[2], AT)
    assert booking.host_id == team.owner.id
    assert await find_disorder(runtime.pool) == {}


async def test_a_booking_of_a_team_takes_two_statements_more_than_one_of_a_host(runtime: Runtime) -> None:
    team = await open_team(runtime, 10)
    own = await runtime.pool.fetchval(
        "select id from event_types where owner_id = $1 and team_id is null", team.owner.id
    )
    # The first one also begins to count for those who have joined.
    await book_team(runtime, team.event_type, AT)
    counts = []
    for event_type_id in (own, team.event_type.id):
        asked: list[str] = []
        async with runtime.transaction(PUBLIC) as work:
            note = partial(_note, asked)
            work.db.add_query_logger(note)  # type: ignore[attr-defined]
            invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
            wanted = BookingWanted(which=ById(event_type_id), starts_at=LATER, invitee=invitee)
            await bookings.create_booking(work, wanted)
            await asyncio.sleep(0)
            work.db.remove_query_logger(note)  # type: ignore[attr-defined]
        counts.append(len(asked))
    assert counts == [5, 7]


def _note(asked: list[str], record: LoggedQuery) -> None:
    # On a new connection the driver asks for the types that it does not know.
    if "typeinfo_tree" not in record.query and "set_config('jit'" not in record.query:
        asked.append(record.query)


async def test_a_slot_closes_when_all_hosts_are_taken_and_each_gets_one(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    made = [await book_team(runtime, team.event_type, AT) for _ in range(3)]
    assert {(await list_hosts(runtime, each.id))[0] for each in made} == {each.id for each in team.hosts}
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    assert await find_disorder(runtime.pool) == {}


async def test_bookings_at_different_times_go_round(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    made = [await book_team(runtime, team.event_type, AT + n * timedelta(hours=1)) for n in range(3)]
    assert {(await list_hosts(runtime, each.id))[0] for each in made} == {each.id for each in team.hosts}


async def test_a_required_host_who_is_taken_closes_the_slot(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1, 2])])
    await book_alone(runtime, team.hosts[0], AT)
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)


async def test_the_next_host_is_chosen_when_one_is_taken_meanwhile(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    own = await runtime.pool.fetchval(
        "select id from event_types where owner_id = $1 and team_id is null", team.hosts[0].id
    )
    async with runtime.transaction(OPERATOR) as other:
        # Somebody books the first host alone and has not committed when the team chooses them.
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        await bookings.create_booking(other, BookingWanted(which=ById(own), starts_at=AT, invitee=invitee))
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    booking = await waiting
    assert await list_hosts(runtime, booking.id) == [team.hosts[1].id]
    assert await find_disorder(runtime.pool) == {}


async def test_a_host_who_is_away_meanwhile_is_judged_again(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    async with runtime.transaction(OPERATOR) as other:
        # The first host has not committed that they are away when the team chooses them; no constraint knows of it.
        await lock_host(other.db, team.hosts[0].id)
        await other.db.execute(
            """insert into out_of_office (id, owner_id, starts_at, ends_at, reason, created_at)
            values ($1, $2, $3, $4, '', $3)""",
            new_id(),
            team.hosts[0].id,
            AT,
            AT + timedelta(hours=1),
        )
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert await list_hosts(runtime, (await waiting).id) == [team.hosts[1].id]


async def test_a_host_who_leaves_meanwhile_is_not_chosen(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    async with runtime.transaction(OPERATOR) as other:
        await lock_host(other.db, team.hosts[0].id)
        # The release of their bookings has not seen this one; what takes their time has not changed.
        await update_left(other.db, team.hosts[0].id, left_at=runtime.clock() + timedelta(seconds=1))
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert await list_hosts(runtime, (await waiting).id) == [team.hosts[1].id]


async def test_a_host_who_is_changed_without_becoming_busy_stays_chosen(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    async with runtime.transaction(OPERATOR) as other:
        await lock_host(other.db, team.hosts[0].id)
        await other.db.execute("insert into host_changes (host_no) values ($1)", team.hosts[0].no)
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert await list_hosts(runtime, (await waiting).id) == [team.hosts[0].id]
    assert await find_disorder(runtime.pool) == {}


async def test_choices_of_one_event_type_are_made_one_after_the_other(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, limits=Limits(per_day=1))
    await book_team(runtime, team.event_type, AT + timedelta(days=1))
    async with runtime.transaction(OPERATOR) as first:
        invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
        wanted = BookingWanted(which=ById(team.event_type.id), starts_at=AT, invitee=invitee)
        await bookings.create_booking(first, wanted)
        # Another host is free, at another time; only the event type's own limit is reached.
        waiting = asyncio.create_task(book_team(runtime, team.event_type, LATER))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    with pytest.raises(SlotUnavailable):
        await waiting


async def test_hosts_are_locked_in_one_order_whichever_groups_they_are_in(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1]), (1, [2])])
    back = await offer(runtime, team.id, team.owner, team.hosts, [(1, [2]), (1, [1]), (1, [0])])
    async with runtime.transaction(OPERATOR) as other:
        await lock_host(other.db, team.hosts[1].id)
        both = [asyncio.create_task(book_team(runtime, each, AT)) for each in (team.event_type, back)]
        await asyncio.sleep(0.5)
        assert not any(each.done() for each in both)
    # In different orders, each would wait for a host that the other has.
    made = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(each).__name__ for each in made) == ["Booking", "SlotUnavailable"]


async def test_the_next_host_is_chosen_when_the_constraint_refuses_one(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    async with runtime.transaction(OPERATOR) as other:
        # Written without the host's lock, as no release does.
        await other.db.execute(
            """insert into claims (id, host_no, kind, starts_at, ends_at, during, created_at)
            values ($1, $2, 'booking', $3, $4, tstzrange($3, $4), $3)""",
            new_id(),
            team.hosts[0].no,
            AT,
            AT + timedelta(minutes=30),
        )
        waiting = asyncio.create_task(book_team(runtime, team.event_type, AT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert await list_hosts(runtime, (await waiting).id) == [team.hosts[1].id]


async def test_a_hold_takes_a_host_and_credit_and_gives_both_back(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    before = await list_credits(runtime, team)
    hold = await hold_team(runtime, team.event_type, AT)
    assert await list_credits(runtime, team) != before
    other = await hold_team(runtime, team.event_type, AT)
    with pytest.raises(SlotUnavailable):
        await book_team(runtime, team.event_type, AT)
    for each in (hold, other):
        async with runtime.transaction(PUBLIC) as work:
            await claims.drop_slot_hold(work, each.id)
    assert await list_credits(runtime, team) == before
    with pytest.raises(HoldNotFound):
        async with runtime.transaction(PUBLIC) as work:
            await claims.drop_slot_hold(work, hold.id)
    await book_team(runtime, team.event_type, AT)
    assert await find_disorder(runtime.pool) == {}


async def test_a_hold_that_expires_gives_host_and_credit_back(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 1)
    await hold_team(runtime, team.event_type, AT)
    clock.pass_time(minutes=11)
    booking = await book_team(runtime, team.event_type, AT)
    assert await list_hosts(runtime, booking.id) == [team.hosts[0].id]
    assert await find_disorder(runtime.pool) == {}


async def test_a_hold_that_is_booked_keeps_its_hosts_and_its_credit(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, [0, 1, 2])])
    hold = await hold_team(runtime, team.event_type, AT)
    held = [row["user_id"] for row in await runtime.pool.fetch("select user_id from held_hosts")]
    before = await list_credits(runtime, team)
    booking = await book_team(runtime, team.event_type, AT, hold_id=hold.id)
    assert set(await list_hosts(runtime, booking.id)) == set(held)
    assert await list_credits(runtime, team) == before
    assert await runtime.pool.fetchval("select count(*) from held_hosts") == 0
    assert await find_disorder(runtime.pool) == {}


async def test_a_hold_of_several_hosts_is_one_hold_of_an_address(runtime: Runtime) -> None:
    team = await open_team(runtime, 4, groups=[(4, [0, 1, 2, 3])])
    for hour in (9, 11, 14):
        await hold_team(runtime, team.event_type, MONDAY.replace(hour=hour) + timedelta(days=1), holder="10.0.0.1")

    assert await runtime.pool.fetchval("select count(*) from claims where kind = 'hold' and active") == 12


@pytest.mark.parametrize(("share", "expected"), [(1, 2), (50, 8), (100, 16)])
async def test_holds_close_only_a_share_of_a_teams_day(runtime: Runtime, share: int, expected: int) -> None:
    runtime.settings = replace(runtime.settings, hold_share=share)
    team = await open_team(runtime, 1)
    taken = 0
    with suppress(DayHoldLimitExceeded):
        for number in range(16):
            at = MONDAY.replace(hour=9) + timedelta(days=1, minutes=30 * number)
            await hold_team(runtime, team.event_type, at, holder=f"10.0.0.{number}")
            taken += 1

    assert taken == expected


async def test_a_cancelled_booking_frees_every_host_and_their_credit(runtime: Runtime) -> None:
    team = await open_team(runtime, 3, groups=[(2, [0, 1, 2])])
    before = await list_credits(runtime, team)
    booking = await book_team(runtime, team.event_type, AT)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))
    assert await list_credits(runtime, team) == before
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0
    assert await find_disorder(runtime.pool) == {}


@pytest.mark.parametrize("counts", [True, False])
async def test_what_a_host_cancels_counts_as_the_team_says(runtime: Runtime, counts: bool) -> None:
    team = await open_team(runtime, 3, counts_host_cancellations=counts)
    before = await list_credits(runtime, team)
    booking = await book_team(runtime, team.event_type, AT)
    booked = await list_credits(runtime, team)
    host, *_ = await list_hosts(runtime, booking.id)
    async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=host)) as work:
        cancelled = await bookings.cancel_booking(work, BookingRef(booking.id, None))
    assert cancelled.cancelled_by == "host"
    assert await list_credits(runtime, team) == (booked if counts else before)


async def test_a_booking_that_moves_keeps_its_hosts_if_they_are_free(runtime: Runtime) -> None:
    team = await open_team(runtime, 3)
    booking = await book_team(runtime, team.event_type, AT)
    hosts, before = await list_hosts(runtime, booking.id), await list_credits(runtime, team)
    async with runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), LATER)
    assert await list_hosts(runtime, booking.id) == hosts
    assert await list_credits(runtime, team) == before
    assert await find_disorder(runtime.pool) == {}


async def test_a_booking_that_moves_gets_other_hosts_if_its_own_are_not_free(runtime: Runtime) -> None:
    team = await open_team(runtime, 2)
    booking = await book_team(runtime, team.event_type, AT)
    assert await list_hosts(runtime, booking.id) == [team.hosts[0].id]
    await book_alone(runtime, team.hosts[0], LATER)
    async with runtime.transaction(PUBLIC) as work:
        moved = await bookings.reschedule_booking(work, BookingRef(booking.id, None), LATER)
    assert await list_hosts(runtime, booking.id) == [team.hosts[1].id]
    assert (moved.uid, moved.claim_id, moved.sequence) == (booking.uid, booking.claim_id, 1)
    assert await find_disorder(runtime.pool) == {}


async def test_a_team_that_does_not_pick_anew_refuses_the_move(runtime: Runtime) -> None:
    team = await open_team(runtime, 2, picks_anew=False)
    booking = await book_team(runtime, team.event_type, AT)
    await book_alone(runtime, team.hosts[0], LATER)
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(SlotUnavailable):
            await bookings.reschedule_booking(work, BookingRef(booking.id, None), LATER)
    assert await list_hosts(runtime, booking.id) == [team.hosts[0].id]


async def test_no_shows_count_as_the_team_says(runtime: Runtime, clock: MovingClock) -> None:
    team = await open_team(runtime, 3, counts_no_shows=False)
    before = await list_credits(runtime, team)
    booking = await book_team(runtime, team.event_type, AT)
    booked = await list_credits(runtime, team)
    clock.now = AT + timedelta(minutes=5)
    for no_show, expected in ((True, before), (False, booked), (True, before)):
        async with runtime.transaction(OPERATOR) as work:
            await bookings.mark_no_show(work, BookingRef(booking.id, None), no_show=no_show)
        assert await list_credits(runtime, team) == expected
    assert await find_disorder(runtime.pool) == {}
