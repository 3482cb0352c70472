"""The wait list: who may join, who is offered what for how long, and what becomes of it."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.errors import HoldNotFound, SlotUnavailable
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType
from openslot.domains.mail.operations import Mailbox
from openslot.domains.mail.ports import MailRefused
from openslot.domains.people import operations as people
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import OutOfOffice
from openslot.domains.wait_list import errors
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.reactions import WAIT_LIST_JOBS
from openslot.platform.core.actor import OPERATOR, PUBLIC, EffectAttempt
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.platform.jobs.support import list_failed
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, work_off
from tests.support.races import find_disorder
from tests.support.two_factor import add_host
from tests.support.wait_list import (
    NINE,
    TUESDAY,
    ask_to_wait,
    book_day,
    cancel_day,
    find_wait_list_faults,
    hand_out,
    list_starts,
    offer_day,
    take_offer,
    tell_offered,
    wait_for,
)

LI, MO, NA = "li@x.example", "mo@x.example", "na@x.example"


async def test_freed_time_is_offered_to_the_first_and_to_nobody_else(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI, MO)
    assert await tell_offered(runtime) == []

    await cancel_day(runtime, booking)
    # In the same transaction: nobody could have come between.
    assert await tell_offered(runtime) == [("li", "offered")]
    assert await list_starts(runtime, day) == []
    with pytest.raises(SlotUnavailable):
        await book_day(runtime, day)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "offered")]
    assert await find_wait_list_faults(runtime) == {}


async def test_one_address_in_two_spellings_gets_one_offer_and_disturbs_nobody(runtime: Runtime, user: User) -> None:
    """Python takes them for two, the database for one; two days are free at once."""
    day, other = await offer_day(runtime, user), await offer_day(runtime, user, "other")
    booking = await book_day(runtime, day)
    next_day = await book_day(runtime, other, NINE + timedelta(days=1))
    await wait_for(runtime, day, "\u0130a@x.example")
    await wait_for(runtime, other, "ia@x.example", day=TUESDAY + timedelta(days=1))
    await free_silently(runtime, booking, next_day)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("\u0130a", "offered")]
    assert await runtime.pool.fetchval("select count(*) from failed_items") == 0


async def free_silently(runtime: Runtime, *cancelled: Booking) -> None:
    """Cancel bookings without offering their times at once."""
    await runtime.pool.execute("update event_types set wait_list_minutes = null")
    for booking in cancelled:
        await cancel_day(runtime, booking)
    await runtime.pool.execute("update event_types set wait_list_minutes = 120")


async def test_one_offer_that_fails_keeps_neither_the_cancellation_nor_the_others_from_theirs(
    runtime: Runtime, day: EventType
) -> None:
    booking = await book_day(runtime, day)
    li, _ = await wait_for(runtime, day, LI, MO)
    # As only a fault of ours could make it: an ended offer of the same start, of which nothing else is known.
    await runtime.pool.execute(
        """insert into wait_list_offers
            (id, entry_id, host_id, email, starts_at, ends_at, made_at, expires_at, state, ended_at)
        values ($1, $1, $2, 'x', $3, $3, $3, $3, 'expired', $3)""",
        li,
        day.owner_id,
        NINE,
    )
    await cancel_day(runtime, booking)
    assert sorted(await tell_offered(runtime)) == [("mo", "offered"), ("x", "expired")]
    assert list(await list_failed(runtime, "wait_list.offer")) == [str(li)]


async def test_a_host_whose_list_fails_is_passed_over(runtime: Runtime, user: User, day: EventType) -> None:
    freed = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    theirs = await offer_day(runtime, await add_host(runtime))
    booking = await book_day(runtime, theirs)
    await wait_for(runtime, theirs, MO)
    await runtime.pool.execute("update wait_list_entries set zone = 'Nowhere/Gone' where email = $1", LI)
    # Cancellations succeed although nothing can be offered.
    await cancel_day(runtime, freed)
    await free_silently(runtime, booking)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("mo", "offered")]
    assert list(await list_failed(runtime, "wait_list.hand_out")) == [str(user.id)]


async def refuse(*_: object) -> None:
    raise MailRefused("550 no such mailbox")


async def fail_offer(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mail server refuse the mail of an offer for good."""
    row = await runtime.pool.fetchrow("select id, round from effects where reaction = 'mail.offer'")
    assert row is not None
    with monkeypatch.context() as broken:
        broken.setattr(Mailbox, "send", refuse)
        await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def test_an_offer_whose_mail_fails_for_good_ends_at_once_and_the_next_is_offered_the_time(
    runtime: Runtime, clock: MovingClock, day: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI, MO)
    await work_off(runtime, clock)
    await cancel_day(runtime, booking)
    await fail_offer(runtime, monkeypatch)
    assert await tell_offered(runtime) == [("li", "offered")]
    await work_off(runtime, clock)
    assert await tell_offered(runtime) == [("li", "expired"), ("mo", "offered")]
    assert await find_wait_list_faults(runtime) == {}


async def test_what_was_booked_meanwhile_does_not_end_with_its_mail(
    runtime: Runtime, clock: MovingClock, day: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking = await book_day(runtime, day)
    li, _ = await wait_for(runtime, day, LI, MO)
    await work_off(runtime, clock)
    await cancel_day(runtime, booking)
    await fail_offer(runtime, monkeypatch)
    await take_offer(runtime, li)
    await work_off(runtime, clock)
    assert await tell_offered(runtime) == [("li", "accepted")]


async def test_offered_time_is_booked_by_the_same_verb(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    li, _ = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    made = await take_offer(runtime, li)
    assert (made.status, made.starts_at, made.invitee_email) == (Status.CONFIRMED, NINE, LI)
    assert await tell_offered(runtime) == [("li", "accepted")]
    with pytest.raises(errors.OfferNotOpen):
        await take_offer(runtime, li)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "accepted")]
    assert await find_disorder(runtime.pool) == {}
    assert await find_wait_list_faults(runtime) == {}
    # What was booked by an offer is freed and offered on like every other.
    await cancel_day(runtime, made)
    assert await tell_offered(runtime) == [("li", "accepted"), ("mo", "offered")]


async def test_declined_time_goes_to_the_next_and_then_to_everybody(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    li, mo = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    for entry in (li, mo):
        async with runtime.transaction(PUBLIC) as work:
            await wait_list.decline_offer(work, entry)
    assert await tell_offered(runtime) == [("li", "declined"), ("mo", "declined")]
    assert await list_starts(runtime, day) == [NINE]
    await hand_out(runtime)
    assert await list_starts(runtime, day) == [NINE]


async def test_offer_that_nobody_takes_goes_to_the_next(runtime: Runtime, day: EventType, clock: MovingClock) -> None:
    booking = await book_day(runtime, day)
    li, _ = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    told_until = await runtime.pool.fetchval("select expires_at from wait_list_offers")
    kept_until = await runtime.pool.fetchval("select expires_at from claims where kind = 'offer'")
    assert kept_until == clock.now + timedelta(minutes=120)
    assert told_until.second == 0
    assert timedelta(minutes=1) <= kept_until - told_until < timedelta(minutes=2)

    clock.now = told_until - timedelta(seconds=1)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "offered")]
    clock.now = told_until
    with pytest.raises(errors.OfferNotOpen):
        await take_offer(runtime, li)
    assert await list_starts(runtime, day) == []
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "expired"), ("mo", "offered")]
    assert await find_wait_list_faults(runtime) == {}


async def test_time_is_open_again_even_if_no_worker_comes(runtime: Runtime, day: EventType, clock: MovingClock) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    clock.pass_time(minutes=120)
    assert await list_starts(runtime, day) == [NINE]
    made = await book_day(runtime, day)
    await hand_out(runtime)
    assert made.status is Status.CONFIRMED
    assert await tell_offered(runtime) == [("li", "expired")]
    assert await find_disorder(runtime.pool) == {}


async def test_offer_ends_before_the_minimum_notice(runtime: Runtime, user: User, clock: MovingClock) -> None:
    day = await offer_day(runtime, user, min_notice_minutes=240)
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    clock.now = NINE - timedelta(hours=5)
    await cancel_day(runtime, booking)
    assert await runtime.pool.fetchval("select expires_at from claims where kind = 'offer'") == NINE - timedelta(
        hours=4
    )

    other = await offer_day(runtime, user, "other", min_notice_minutes=240)
    wednesday = NINE + timedelta(days=1)
    clock.now = wednesday - timedelta(days=1)
    booking = await book_day(runtime, other, wednesday)
    await wait_for(runtime, other, MO, day=wednesday.date())
    clock.now = wednesday - timedelta(hours=4, minutes=5)
    await cancel_day(runtime, booking)
    # Too late to keep it for somebody: whoever comes first gets it.
    assert await list_starts(runtime, other, wednesday.date()) == [wednesday]


async def test_only_confirmed_addresses_are_offered_a_time(
    runtime: Runtime, day: EventType, clock: MovingClock
) -> None:
    booking = await book_day(runtime, day)
    li = await ask_to_wait(runtime, day, LI)
    await wait_for(runtime, day, MO)
    await cancel_day(runtime, booking)
    assert await tell_offered(runtime) == [("mo", "offered")]
    clock.pass_time(hours=24)
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(errors.EntryNotFound):
            await wait_list.confirm_entry(work, li)
    await run_job(runtime, WAIT_LIST_JOBS[1])
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries where id = $1", li) == 0


async def test_who_joins_first_comes_first_even_if_they_confirm_later(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    li, mo = [await ask_to_wait(runtime, day, email) for email in (LI, MO)]
    for entry in (mo, li):
        async with runtime.transaction(PUBLIC) as work:
            await wait_list.confirm_entry(work, entry)
    await cancel_day(runtime, booking)
    assert await tell_offered(runtime) == [("li", "offered")]


async def test_one_live_offer_per_person(runtime: Runtime, user: User, day: EventType) -> None:
    other = await offer_day(runtime, user, "other")
    wednesday = NINE + timedelta(days=1)
    tuesday_booking, wednesday_booking = await book_day(runtime, day), await book_day(runtime, other, wednesday)
    li, _ = await wait_for(runtime, day, LI, MO)
    await wait_for(runtime, other, LI.upper(), day=wednesday.date())
    await cancel_day(runtime, tuesday_booking)
    await cancel_day(runtime, wednesday_booking)
    assert await tell_offered(runtime) == [("li", "offered")]
    assert await list_starts(runtime, other, wednesday.date()) == [wednesday]

    async with runtime.transaction(PUBLIC) as work:
        await wait_list.decline_offer(work, li)
    assert sorted(await tell_offered(runtime)) == [("LI", "offered"), ("li", "declined"), ("mo", "offered")]
    assert await find_wait_list_faults(runtime) == {}


async def test_freed_time_of_another_event_type_is_offered_too(
    runtime: Runtime, user: User, day: EventType, clock: MovingClock
) -> None:
    plain = await offer_day(runtime, user, "plain", wait_list_minutes=None)
    booking = await book_day(runtime, plain)
    await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    await work_off(runtime, clock)
    assert ("li", "offered") in await tell_offered(runtime)


async def test_reschedule_frees_the_old_time(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), NINE + timedelta(days=1))
    assert await tell_offered(runtime) == [("li", "offered")]


async def test_seats_are_offered_one_by_one(runtime: Runtime, user: User) -> None:
    group = await offer_day(runtime, user, "group", seats=2)
    one, two = [await book_day(runtime, group, email=f"{name}@x.example") for name in ("a", "b")]
    li, mo, _ = await wait_for(runtime, group, LI, MO, NA, starts_at=NINE)
    await cancel_day(runtime, one)
    assert await tell_offered(runtime) == [("li", "offered")]
    await cancel_day(runtime, two)
    assert await tell_offered(runtime) == [("li", "offered"), ("mo", "offered")]
    assert await list_starts(runtime, group) == []
    made = await take_offer(runtime, li)
    assert made.seat_id is not None
    async with runtime.transaction(PUBLIC) as work:
        await wait_list.decline_offer(work, mo)
    assert await tell_offered(runtime) == [("li", "accepted"), ("mo", "declined"), ("na", "offered")]
    assert await find_disorder(runtime.pool) == {}
    assert await find_wait_list_faults(runtime) == {}


async def test_only_full_days_can_be_waited_for(runtime: Runtime, user: User, day: EventType) -> None:
    with pytest.raises(errors.NothingToWaitFor):
        await ask_to_wait(runtime, day, LI)
    with pytest.raises(errors.NothingToWaitFor):
        # A Sunday is closed, not full.
        await ask_to_wait(runtime, day, LI, day=TUESDAY + timedelta(days=5))
    await book_day(runtime, day)
    plain = await offer_day(runtime, user, "plain", wait_list_minutes=None)
    with pytest.raises(errors.WaitListOff):
        await ask_to_wait(runtime, plain, LI)
    await ask_to_wait(runtime, day, LI)


async def test_nobody_joins_through_a_link_for_a_number_of_bookings(
    runtime: Runtime, client: httpx2.AsyncClient, user: User, day: EventType
) -> None:
    await book_day(runtime, day)
    async with runtime.transaction(OPERATOR) as work:
        _, made = await links.create_booking_link(work, user, day.id)
    with pytest.raises(errors.WaitListOff):
        await ask_to_wait(runtime, day, LI, token=made.token)
    asked = {"eventTypeId": str(day.id), "date": str(TUESDAY), "name": "Li", "email": LI, "timezone": "UTC"}
    refused = await client.post("/api/public/wait-list", json={**asked, "token": made.token})
    assert (refused.status_code, refused.headers["x-error-code"]) == (409, "wait_list_off")
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0
    assert (await client.post("/api/public/wait-list", json=asked)).status_code == 200


async def test_limits_of_a_day_and_of_an_address(
    runtime: Runtime, user: User, day: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.domains.wait_list.rules.MAX_OF_DAY", 2)
    monkeypatch.setattr("openslot.domains.wait_list.rules.MAX_OF_ADDRESS", 2)
    days = [NINE + timedelta(days=number) for number in range(3)]
    for each in days:
        await book_day(runtime, day, each)
    for each in days[:2]:
        await ask_to_wait(runtime, day, LI, day=each.date())
    with pytest.raises(errors.TooManyWaits):
        await ask_to_wait(runtime, day, LI, day=days[2].date())
    invented = [await ask_to_wait(runtime, day, f"{number}@x.example") for number in range(3)]
    await wait_for(runtime, day, MO, NA)
    # Who has not confirmed an address keeps nobody out; it is confirmed in vain where the list is full by then.
    with pytest.raises(errors.WaitListFull):
        await ask_to_wait(runtime, day, "late@x.example")
    with pytest.raises(errors.WaitListFull):
        async with runtime.transaction(PUBLIC) as work:
            await wait_list.confirm_entry(work, invented[0])
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries where state = 'waiting'") == 2


async def test_of_those_who_do_not_confirm_the_first_are_forgotten(
    runtime: Runtime, day: EventType, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.domains.wait_list.rules.MAX_UNPROVEN", 3)
    for each in (NINE, NINE + timedelta(days=1)):
        await book_day(runtime, day, each)
    await ask_to_wait(runtime, day, NA, day=TUESDAY + timedelta(days=1))
    await wait_for(runtime, day, LI)
    first = await ask_to_wait(runtime, day, MO)
    for number in range(4):
        clock.pass_time(seconds=1)
        await ask_to_wait(runtime, day, f"{number}@x.example")
    with pytest.raises(errors.EntryNotFound):
        async with runtime.transaction(PUBLIC) as work:
            await wait_list.confirm_entry(work, first)
    rows = await runtime.pool.fetch("select email from wait_list_entries order by asked_at, id")
    assert [row["email"] for row in rows] == [NA, LI, "1@x.example", "2@x.example", "3@x.example"]


async def test_joining_again_changes_nothing_and_sends_the_mail_again_later(
    runtime: Runtime, day: EventType, clock: MovingClock
) -> None:
    await book_day(runtime, day)
    joined = "select count(*) from events where type = 'wait_list.joined'"
    first = await ask_to_wait(runtime, day, LI)
    assert await ask_to_wait(runtime, day, LI.upper()) == first
    assert await runtime.pool.fetchval(joined) == 1
    clock.pass_time(minutes=10)
    assert await ask_to_wait(runtime, day, LI) == first
    assert await runtime.pool.fetchval(joined) == 2


async def test_who_leaves_is_forgotten_and_their_offer_goes_on(runtime: Runtime, user: User, day: EventType) -> None:
    booking = await book_day(runtime, day)
    li, mo = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    async with runtime.transaction(PUBLIC) as work:
        await wait_list.leave_wait_list(work, li)
    assert await tell_offered(runtime) == [("mo", "offered")]
    async with runtime.transaction(OPERATOR) as work:
        await wait_list.remove_wait_list_entry(work, user, day.id, mo)
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0
    assert await list_starts(runtime, day) == [NINE]
    assert await find_disorder(runtime.pool) == {}


async def test_switched_off_list_ends_its_offers_and_keeps_who_waits(
    runtime: Runtime, user: User, day: EventType
) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    async with runtime.transaction(OPERATOR) as work:
        await wait_list.set_up_wait_list(work, user, day.id, minutes=None)
    assert await tell_offered(runtime) == [("li", "withdrawn")]
    assert await list_starts(runtime, day) == [NINE]
    async with runtime.transaction(OPERATOR) as work:
        _, listed, total = await wait_list.list_wait_list(work, user, day.id, page=1, limit=20)
    assert ([each.entry.email for each in listed], total) == ([LI], 1)


async def test_archived_event_type_and_closed_time_end_offers(runtime: Runtime, user: User, day: EventType) -> None:
    booking = await book_day(runtime, day)
    li, _ = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    async with runtime.transaction(OPERATOR) as work:
        await schedules.add_out_of_office(work, user, OutOfOffice(NINE, NINE + timedelta(hours=1), ""))
    with pytest.raises(SlotUnavailable):
        await take_offer(runtime, li)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "withdrawn")]
    assert await find_wait_list_faults(runtime) == {}

    other = await offer_day(runtime, user, "other")
    wednesday = NINE + timedelta(days=1)
    booking = await book_day(runtime, other, wednesday)
    await wait_for(runtime, other, NA, day=wednesday.date())
    await cancel_day(runtime, booking)
    async with runtime.transaction(OPERATOR) as work:
        current = await event_types.get_event_type(work, user, other.id)
        await event_types.set_event_type_active(work, current, active=False)
    await hand_out(runtime)
    assert (await tell_offered(runtime))[-1] == ("na", "withdrawn")
    assert not await runtime.pool.fetchval("select count(*) from claims where kind = 'offer' and active")


async def test_host_who_leaves_leaves_nobody_waiting(runtime: Runtime, user: User, day: EventType) -> None:
    wednesday = NINE + timedelta(days=1)
    first, _ = await book_day(runtime, day), await book_day(runtime, day, wednesday)
    await wait_for(runtime, day, LI)
    await wait_for(runtime, day, MO, day=wednesday.date())
    await cancel_day(runtime, first)
    assert await tell_offered(runtime) == [("li", "offered")]
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0
    assert not await runtime.pool.fetchval("select count(*) from claims where active")


async def test_deleted_event_type_takes_its_list_along(runtime: Runtime, user: User, day: EventType) -> None:
    plain = await offer_day(runtime, user, "plain", wait_list_minutes=None)
    booking = await book_day(runtime, plain)
    await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "offered")]
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, day)
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0
    assert not await runtime.pool.fetchval("select count(*) from claims where kind = 'offer'")


async def test_offered_time_can_not_be_dropped_or_booked_as_a_hold_of_others(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    offered = await runtime.pool.fetchval("select claim_id from wait_list_offers")
    async with runtime.transaction(PUBLIC) as work:
        with pytest.raises(HoldNotFound):
            await claims.drop_slot_hold(work, offered)
        with pytest.raises(SlotUnavailable):
            await claims.hold_slot(work, ById(day.id), NINE, holder="10.0.0.1")


async def test_entries_go_thirty_days_after_their_day(runtime: Runtime, day: EventType, clock: MovingClock) -> None:
    booking = await book_day(runtime, day)
    await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    clock.pass_time(hours=3)
    await hand_out(runtime)
    clock.pass_time(days=2)
    await run_job(runtime, WAIT_LIST_JOBS[1])
    assert await runtime.pool.fetchval("select count(*) from claims where kind = 'offer'") == 0
    assert await tell_offered(runtime) == [("li", "expired")]
    clock.pass_time(days=30)
    await run_job(runtime, WAIT_LIST_JOBS[1])
    assert await runtime.pool.fetchval("select count(*) from wait_list_entries") == 0
