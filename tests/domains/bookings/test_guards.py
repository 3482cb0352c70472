"""Each guard of a host's time by itself: the lock, what a change believes, and what the database keeps by itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization, get_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.store import HOSTS
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.availability.claims.expiry.store import HOSTS_WITH_EXPIRED_HOLDS
from openslot.domains.availability.errors import HoldNotFound, SlotUnavailable
from openslot.domains.availability.models import ByBooking, ById, ClaimedHost
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import EventTypeChanged, EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.domains.teams.models import HostRole
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.work import Runtime, Work
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import AT, LATER, book, hold
from tests.support.clocks import MONDAY, MovingClock
from tests.support.races import find_disorder


@pytest.fixture
async def group(runtime: Runtime, user: User) -> EventType:
    """A meeting of two."""
    return await offer(runtime, user, "group", seats=2)


@asynccontextmanager
async def locking(runtime: Runtime, host: User) -> AsyncIterator[None]:
    """Change the host's time for as long as this lasts."""
    async with runtime.pool.acquire() as connection, connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1, $2)", HOSTS, host.no)
        yield


async def wait_until_it_waits(runtime: Runtime, task: asyncio.Task[Any], ahead: int = 0) -> None:
    """Go on as soon as someone waits for a host's lock behind so many, which must be before the task is done."""
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted and classid = $1"
    while await runtime.pool.fetchval(waiting, HOSTS) <= ahead:
        assert not task.done(), f"did not wait: {task}"
        await asyncio.sleep(0.01)


Deed = Callable[[Work, User, EventType], Awaitable[object]]


async def _drop(work: Work, _: User, __: EventType) -> None:
    hold_id = await work.runtime.pool.fetchval("select id from claims where kind = 'hold'")
    seat_id = await work.runtime.pool.fetchval("select id from claim_seats where holder is not null")
    await claims.drop_slot_hold(work, seat_id or hold_id)


async def _ref(work: Work) -> BookingRef:
    return BookingRef(await work.runtime.pool.fetchval("select id from bookings"), None)


async def _book(work: Work, _: User, offered: EventType) -> None:
    invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
    at = MONDAY.replace(hour=15)
    await bookings.create_booking(work, BookingWanted(which=ById(offered.id), starts_at=at, invitee=invitee))


async def _hold(work: Work, _: User, offered: EventType) -> None:
    await claims.hold_slot(work, ById(offered.id), MONDAY.replace(hour=15), holder="someone")


async def _reschedule(work: Work, _: User, __: EventType) -> None:
    await bookings.reschedule_booking(work, await _ref(work), MONDAY.replace(hour=15))


async def _cancel(work: Work, _: User, __: EventType) -> None:
    await bookings.cancel_booking(work, await _ref(work))


async def _edit(work: Work, _: User, offered: EventType) -> None:
    await event_types.change_event_type(work, replace(offered, duration_minutes=15))


async def _delete(work: Work, host: User, __: EventType) -> None:
    found, _ = await event_types.list_event_types(work, host)
    await event_types.delete_event_type(work, next(each for each in found if each.slug == "30min"))


async def _disable(work: Work, host: User, _: EventType) -> None:
    await people.disable_user(work, host)


async def _leave(work: Work, host: User, _: EventType) -> None:
    organization = await get_organization(work, "harbor")
    await people.remove_member(work, organization, host)


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
@pytest.mark.parametrize("deed", [_book, _hold, _drop, _reschedule, _cancel, _edit, _delete, _disable, _leave])
async def test_every_writer_waits_for_the_hosts_lock(runtime: Runtime, user: User, deed: Deed, seats: int) -> None:
    offered = await offer(runtime, user, "offered", seats=seats)
    await book(runtime, offered, LATER)
    await hold(runtime, offered)
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)

    async def do() -> None:
        async with runtime.transaction(PUBLIC) as work:
            await deed(work, user, offered)

    async with locking(runtime, user):
        doing = asyncio.create_task(do())
        await wait_until_it_waits(runtime, doing)
    await doing
    assert await find_disorder(runtime.pool) == {}


async def test_the_minutes_job_leaves_a_host_alone_who_is_being_changed(
    runtime: Runtime, user: User, meeting: EventType, clock: MovingClock
) -> None:
    await hold(runtime, meeting)
    clock.pass_time(minutes=11)

    async with locking(runtime, user):
        assert await expire_holds(runtime.work(SYSTEM)) == "0 holds expired"
    assert await expire_holds(runtime.work(SYSTEM)) == "1 holds expired"
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 0


# What other tests have left in the statistics may change the plan.
@pytest.mark.own_database
async def test_the_minutes_job_finds_holds_by_their_expiry(runtime: Runtime) -> None:
    rows = await runtime.pool.fetch(f"explain {HOSTS_WITH_EXPIRED_HOLDS}", MONDAY, 1000)
    plan = "\n".join(row["QUERY PLAN"] for row in rows)

    assert "claims_expiry" in plan
    assert "claim_seats_expiry" in plan


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_a_hold_that_someone_else_has_switched_off_is_not_booked(
    runtime: Runtime, user: User, seats: int
) -> None:
    offered = await offer(runtime, user, "offered", seats=seats)
    held = await hold(runtime, offered)

    async with runtime.transaction(PUBLIC) as work:
        await claims.claim_slot(work, ById(offered.id), AT, hold_id=held.id)
        # Whoever forgets the lock drops and expires holds meanwhile.
        await runtime.pool.execute("update claims set active = false")
        await runtime.pool.execute("update claim_seats set active = false")
        with pytest.raises(SlotUnavailable):
            await work.apply()


async def test_a_session_that_someone_else_has_closed_is_not_joined(runtime: Runtime, group: EventType) -> None:
    booked = await book(runtime, group)
    async with runtime.transaction(PUBLIC) as work:
        await claims.claim_slot(work, ById(group.id), AT)
        await _cancel_without_lock(runtime, booked)
        with pytest.raises(SlotUnavailable):
            await work.apply()


async def test_a_seat_that_someone_else_has_freed_is_not_moved(runtime: Runtime, group: EventType) -> None:
    booked, _ = await book(runtime, group), await book(runtime, group)
    async with runtime.transaction(PUBLIC) as work:
        await _move(work, booked)
        await _cancel_without_lock(runtime, booked)
        with pytest.raises(SlotUnavailable):
            await work.apply()


async def test_a_claim_that_someone_else_has_freed_is_not_moved(runtime: Runtime, meeting: EventType) -> None:
    booked = await book(runtime, meeting)
    async with runtime.transaction(PUBLIC) as work:
        await _move(work, booked)
        await _cancel_without_lock(runtime, booked)
        with pytest.raises(SlotUnavailable):
            await work.apply()


async def _move(work: Work, booked: Booking) -> None:
    """Stage what moves the time of a booking, which others can still change."""
    host = await work.db.fetchrow("select id, no, name from users where id = $1", booked.host_id)
    assert host is not None
    own = ClaimedHost(
        user_id=host["id"],
        host_no=host["no"],
        name=host["name"],
        claim_id=booked.claim_id,
        group_id=None,
        role=HostRole.ORGANIZER,
    )
    await claims.move_time(work, ByBooking(booked.event_type_id), LATER, [own], booked.seat_id)


async def _cancel_without_lock(runtime: Runtime, booked: Booking) -> None:
    async with runtime.pool.acquire() as connection, connection.transaction():
        await connection.execute(
            "update bookings set status = 'CANCELLED', cancelled_at = now() where id = $1", booked.id
        )
        await connection.execute("update claim_seats set active = false where id = $1", booked.seat_id)
        await connection.execute(
            """update claims c set active = false where id = $1
            and not exists (select from claim_seats t where t.claim_id = c.id and t.active)""",
            booked.claim_id,
        )


async def test_the_database_keeps_a_confirmed_bookings_time(runtime: Runtime, meeting: EventType) -> None:
    booked = await book(runtime, meeting)

    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await runtime.pool.execute("update claims set active = false where id = $1", booked.claim_id)
    assert refused.value.constraint_name == "claims_keep_booked_time"
    assert await find_disorder(runtime.pool) == {}


async def test_the_database_keeps_a_confirmed_bookings_seat(runtime: Runtime, group: EventType) -> None:
    booked = await book(runtime, group)

    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        await runtime.pool.execute("update claim_seats set active = false where id = $1", booked.seat_id)
    assert refused.value.constraint_name == "claim_seats_keep_booked_seat"


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_a_hold_that_has_become_a_booking_can_not_be_dropped(runtime: Runtime, user: User, seats: int) -> None:
    offered = await offer(runtime, user, "offered", seats=seats)
    held = await hold(runtime, offered)
    await book(runtime, offered, hold_id=held.id)

    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(HoldNotFound):
            await claims.drop_slot_hold(work, held.id)
    assert await find_disorder(runtime.pool) == {}


async def test_a_hold_is_booked_by_who_asked_before_it_expired(
    runtime: Runtime, meeting: EventType, clock: MovingClock
) -> None:
    held = await hold(runtime, meeting)
    async with runtime.transaction(PUBLIC) as work:
        clock.pass_time(minutes=11)
        await claims.claim_slot(work, ById(meeting.id), AT, hold_id=held.id)
        assert await expire_holds(runtime.work(SYSTEM)) == "0 holds expired"
        await work.apply()

    assert await runtime.pool.fetchval("select kind from claims where active") == "booking"


async def test_of_two_edits_at_once_one_is_refused(runtime: Runtime, meeting: EventType, clock: MovingClock) -> None:
    clock.pass_time(seconds=1)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(meeting, duration_minutes=15))

    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(EventTypeChanged):
            await event_types.change_event_type(work, replace(meeting, seats=3))


async def test_a_deleted_event_type_takes_its_holds_along(runtime: Runtime, user: User, meeting: EventType) -> None:
    other = await offer(runtime, user, "other")
    held = await hold(runtime, meeting)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, meeting)

    with pytest.raises(EventTypeNotFound):
        await book(runtime, meeting, hold_id=held.id)
    assert (await book(runtime, other)).starts_at == AT
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(EventTypeNotFound):
            await event_types.change_event_type(work, replace(meeting, duration_minutes=15))


async def test_a_disabled_hosts_meeting_that_was_being_made_is_cancelled_or_refused(
    runtime: Runtime, user: User, meeting: EventType
) -> None:
    async def disable() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.disable_user(work, user)

    async with runtime.transaction(PUBLIC) as work:
        await _book(work, user, meeting)
        leaving = asyncio.create_task(disable())
        await wait_until_it_waits(runtime, leaving)
        late = asyncio.create_task(book(runtime, meeting))
        await wait_until_it_waits(runtime, late, ahead=1)
    await leaving

    with pytest.raises(EventTypeNotFound):
        await late
    assert await find_disorder(runtime.pool) == {}
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CANCELLED'") == 1


async def test_a_leavers_meeting_that_was_being_made_is_cancelled_or_refused(
    runtime: Runtime, user: User, meeting: EventType, clock: MovingClock
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)

    async def leave() -> None:
        async with runtime.transaction(OPERATOR) as work:
            await people.remove_member(work, organization, user)

    async with runtime.transaction(PUBLIC) as work:
        await _book(work, user, meeting)
        leaving = asyncio.create_task(leave())
        await wait_until_it_waits(runtime, leaving)
        late = asyncio.create_task(book(runtime, meeting, LATER))
        await wait_until_it_waits(runtime, late, ahead=1)
        clock.pass_time(seconds=1)
    await leaving

    with pytest.raises(SlotUnavailable):
        await late
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CANCELLED'") == 1
    clock.pass_time(seconds=1)
    assert (await book(runtime, meeting)).starts_at == AT
    assert await find_disorder(runtime.pool) == {}
