"""Every end of the story: late, delayed, given up, refunded here or there, disputed; money and booking agree."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import operations
from openslot.domains.payments.errors import CheckoutNotOpened, PaymentNotFound, RefundNotPossible
from openslot.domains.payments.models import PaymentState, RefundState
from openslot.domains.people import deletions
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import (
    PRICE,
    TEN,
    book,
    book_and_pay,
    cancel,
    find,
    intent_of,
    money,
    problems,
    refunds,
    reload,
    revenue,
    session_of,
    tick,
    told,
)
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind


async def test_late_money_is_honoured_if_the_time_is_free(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    fake_stripe.is_down = True
    clock.pass_time(minutes=37)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.OPEN
    # A day later the time is freed although nobody could be asked, and the host is told.
    clock.pass_time(hours=25)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    assert await problems(runtime, payment) == ["provider_lost"]

    fake_stripe.is_down = False
    clock.pass_time(hours=1)
    await tick(runtime, clock)
    known = await told(runtime, payment)
    assert (known.status, known.events) == ("CONFIRMED", ("booking.created", "payment.received"))
    assert (await reload(runtime, payment)).problem is None


async def test_late_money_is_honoured_although_the_notice_is_too_short_by_now(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
) -> None:
    """The invitee has booked in time, and could do nothing about the rest."""
    await runtime.pool.execute("update event_types set min_notice_minutes = 4400 where id = $1", paid.id)
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    fake_stripe.is_down = True
    clock.pass_time(hours=26)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    fake_stripe.is_down = False
    clock.pass_time(hours=1)
    assert (await book(client, paid)).status_code == 409

    await tick(runtime, clock)
    assert (await told(runtime, payment)).status == "CONFIRMED"


async def test_late_money_goes_back_if_the_time_is_gone(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    fake_stripe.is_down = True
    clock.pass_time(hours=26)
    await tick(runtime, clock)
    fake_stripe.is_down = False
    other = await book_and_pay(client, runtime, paid, books)

    clock.pass_time(hours=1)
    await operations.read_anew(runtime, payment.id)
    assert (await reload(runtime, payment)).problem == "paid_late"
    await work_off(runtime, clock)
    assert await problems(runtime, payment) == ["provider_lost", "paid_late"]
    assert (await reload(runtime, payment)).problem is None
    known = await told(runtime, payment)
    assert (known.status, known.events) == ("PENDING_PAYMENT", ())
    assert [(each.reason, each.state) for each in await refunds(runtime, payment)] == [("late", "succeeded")]
    assert money(books) == PRICE
    assert (await told(runtime, other)).status == "CONFIRMED"
    assert await revenue(runtime) == (2 * PRICE, PRICE)


async def test_delayed_money_keeps_the_time_until_a_day_before(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay_later(session_of(payment))
    assert (await operations.read_anew(runtime, payment.id)).state is PaymentState.PROCESSING
    clock.pass_time(days=2)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.PROCESSING
    assert (await book(client, paid)).status_code == 409

    clock.pass_time(days=1, hours=3)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    await book_and_pay(client, runtime, paid, books)
    books.money_arrives(session_of(payment))
    clock.pass_time(hours=1)
    await tick(runtime, clock)
    assert [each.reason for each in await refunds(runtime, payment)] == ["late"]
    assert await problems(runtime, payment) == ["paid_late"]
    assert (await told(runtime, payment)).events == ()


async def test_whoever_gives_up_frees_the_time_and_can_not_pay_any_more(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, fake_stripe: FakeStripe
) -> None:
    payment = await find(runtime, await book(client, paid))
    fake_stripe.is_down = True
    with pytest.raises(CheckoutNotOpened):
        await operations.give_payment_up(runtime, payment.booking_id)
    assert (await book(client, paid)).status_code == 409
    fake_stripe.is_down = False
    assert (await operations.give_payment_up(runtime, payment.booking_id)).state is PaymentState.RELEASED
    assert books.objects[session_of(payment)]["status"] == "expired"
    assert (await book(client, paid)).status_code == 200
    assert (await told(runtime, payment)).events == ()


async def test_whoever_has_paid_a_moment_before_giving_up_has_a_booking(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    assert (await operations.give_payment_up(runtime, payment.booking_id)).state is PaymentState.PAID
    assert (await told(runtime, payment)).status == "CONFIRMED"


@pytest.mark.parametrize(
    ("policy", "by", "days", "back"),
    [
        ("full", PUBLIC, 3, PRICE),
        ("none", PUBLIC, 0, 0),
        ("none", OPERATOR, 0, PRICE),
        ("until:24", PUBLIC, 3, PRICE),
        ("until:24", PUBLIC, 3.5, 0),
        ("until:24", OPERATOR, 3.5, PRICE),
    ],
)
async def test_a_cancellation_refunds_by_the_policy_of_the_day_it_was_booked(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    policy: str,
    by: object,
    days: float,
    back: int,
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = $1 where id = $2", policy, paid.id)
    payment = await book_and_pay(client, runtime, paid, books)
    await runtime.pool.execute("update event_types set refund_policy = 'full'")
    clock.pass_time(days=days)
    await cancel(runtime, payment, by)  # type: ignore[arg-type]
    await tick(runtime, clock)

    assert PRICE - money(books) == back
    known = await told(runtime, payment)
    assert known.events == ("booking.created", "payment.received", "booking.cancelled")
    assert (await reload(runtime, payment)).refunded_amount == back
    assert f'"status": "{"refunded" if back else "paid"}"' in str(known.payment).replace('":"', '": "')


async def test_a_host_refunds_a_part_and_never_more_than_is_left(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    user: User,
    stranger: User,
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    async with runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, user, payment.id, amount=1000)
        with pytest.raises(PaymentNotFound):
            await operations.refund_payment(work, stranger, payment.id)
    async with runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, user, payment.id)
        with pytest.raises(RefundNotPossible):
            await operations.refund_payment(work, user, payment.id)
    await tick(runtime, clock)
    assert [each["amount"] for each in books.list("refund")] == [1000, 3900]
    assert (await reload(runtime, payment)).refunded_amount == PRICE


async def test_a_refund_in_the_providers_pages_is_known_and_one_that_fails_later_is_told(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    refund = books.refund(intent_of(payment), 900)
    await operations.read_anew(runtime, payment.id)
    assert [(each.reason, each.amount) for each in await refunds(runtime, payment)] == [("outside", 900)]
    assert '"partially_refunded"' in str((await told(runtime, payment)).payment)

    books.fail_refund(refund["id"])
    for _ in range(2):
        await operations.read_anew(runtime, payment.id)
    assert await problems(runtime, payment) == ["refund_failed"]
    assert '"refund_failed"' in str((await told(runtime, payment)).payment)
    assert await revenue(runtime) == (PRICE, 0)


@pytest.mark.parametrize(("is_won", "after"), [(True, "paid"), (False, "disputed")])
async def test_a_dispute_is_told_when_it_opens_and_when_it_is_lost(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, is_won: bool, after: str
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    dispute = books.dispute(intent_of(payment))
    for _ in range(2):
        await operations.read_anew(runtime, payment.id)
    assert '"disputed"' in str((await told(runtime, payment)).payment)
    books.close_dispute(dispute["id"], is_won=is_won)
    for _ in range(2):
        await operations.read_anew(runtime, payment.id)
    assert await problems(runtime, payment) == ["disputed", *(() if is_won else ("dispute_lost",))]
    assert f'"{after}"' in str((await told(runtime, payment)).payment)
    assert (await reload(runtime, payment)).problem == (None if is_won else "dispute_lost")


@pytest.mark.parametrize(
    "kind",
    [FaultKind.LOSE_ANSWER, FaultKind.KEPT_STATUS, FaultKind.STATUS],
)
async def test_a_refund_whose_answer_is_lost_is_made_once(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
    user: User,
    kind: FaultKind,
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    async with runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, user, payment.id, amount=1000)
    fake_stripe.faults = [Fault(kind, "refunds", status=500)] * 3
    for _ in range(4):
        clock.pass_time(hours=1)
        await tick(runtime, clock)
    assert [each["amount"] for each in books.list("refund")] == [1000]
    assert [each.state for each in await refunds(runtime, payment)] == [RefundState.SUCCEEDED]
    assert (await reload(runtime, payment)).refunded_amount == 1000


async def test_a_refund_that_is_refused_is_told(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    books.close_dispute(books.dispute(intent_of(payment))["id"], is_won=False)
    await cancel(runtime, payment)
    await tick(runtime, clock)
    assert await problems(runtime, payment) == ["dispute_lost", "refund_failed"]
    assert [each.state for each in await refunds(runtime, payment)] == [RefundState.FAILED]


async def test_delayed_money_that_does_not_come_frees_the_time_at_once(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay_later(session_of(payment))
    assert (await operations.read_anew(runtime, payment.id)).state is PaymentState.PROCESSING

    books.money_fails(session_of(payment))
    assert (await operations.read_anew(runtime, payment.id)).state is PaymentState.RELEASED
    assert (await book(client, paid)).status_code == 200
    assert (await told(runtime, payment)).events == ()


@pytest.mark.rest("waits for seconds")
async def test_an_account_is_deleted_only_after_nobody_can_pay_and_all_money_went_back(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
    user: User,
) -> None:
    unpaid = await find(runtime, await book(client, paid))
    confirmed = await book_and_pay(client, runtime, paid, books, "2026-03-20T12:00:00Z")
    fake_stripe.is_down = True
    async with runtime.transaction(OPERATOR) as work:
        await deletions.delete_account(work, user)
    await _advance_deletions(runtime, clock, hours=2)
    assert await runtime.pool.fetchval("select count(*) from payments") == 2

    fake_stripe.is_down = False
    await _advance_deletions(runtime, clock, hours=24)
    assert books.objects[session_of(unpaid)]["status"] == "expired"
    assert money(books) == 0
    assert await runtime.pool.fetchval("select count(*) from users where id = $1", confirmed.host_id) == 0


async def _advance_deletions(runtime: Runtime, clock: MovingClock, *, hours: int) -> None:
    for _ in range(hours):
        await tick(runtime, clock)
        await deletions.advance_deletions(runtime.work(SYSTEM))
        clock.pass_time(hours=1)


async def test_a_host_who_leaves_is_not_paid(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock, user: User
) -> None:
    unpaid = await find(runtime, await book(client, paid))
    at_once = await find(runtime, await book(client, paid, "2026-03-20T11:00:00Z"))
    confirmed = await book_and_pay(client, runtime, paid, books, "2026-03-20T12:00:00Z")
    books.pay(session_of(at_once))
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    await tick(runtime, clock)
    await tick(runtime, clock)

    assert books.objects[session_of(unpaid)]["status"] == "expired"
    assert (await reload(runtime, unpaid)).state is PaymentState.RELEASED
    assert money(books) == 0
    assert (await told(runtime, at_once)).events == ()
    assert (await told(runtime, confirmed)).events[-1] == "booking.cancelled"


async def test_a_moved_booking_keeps_its_payment(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    async with runtime.transaction(PUBLIC) as work:
        moved = await bookings.reschedule_booking(
            work, BookingRef(payment.booking_id, None), clock.now.replace(day=20, hour=12)
        )
    assert moved.payment is not None
    assert moved.payment.status == "paid"
    assert await reload(runtime, payment) == payment
    assert (await book(client, paid, TEN)).status_code == 200


async def test_what_nobody_paid_for_is_forgotten_after_a_month(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, clock: MovingClock
) -> None:
    await book(client, paid)
    clock.pass_time(minutes=40)
    await tick(runtime, clock)
    clock.pass_time(days=29)
    await tick(runtime, clock)
    assert await runtime.pool.fetchval("select count(*) from payments") == 1
    clock.pass_time(days=1)
    await tick(runtime, clock)
    assert await runtime.pool.fetchval("select count(*) from bookings") == 0
