"""Refunds in every order: asked for here while others are made in Stripe, read late, and judged by the policy."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments import operations, queries
from openslot.domains.payments.errors import RefundNotAllowed
from openslot.domains.payments.models import RefundState, StoredPayment
from openslot.domains.payments.ports import Checkouts
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.payments.support import (
    PRICE,
    Pause,
    SlowCheckouts,
    book_and_pay,
    cancel,
    intent_of,
    money,
    problems,
    refunds,
    reload,
    revenue,
    tick,
    told,
)
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe


@pytest.fixture
def line(fake_stripe: FakeStripe) -> SlowCheckouts:
    return SlowCheckouts(fake_stripe.url)


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, line: SlowCheckouts) -> AsyncIterator[Runtime]:
    fakes: dict[type, object] = {Checkouts: line}
    async with open_runtime(settings, clock=clock, fakes=fakes) as opened:
        yield opened


async def move(runtime: Runtime, payment: StoredPayment, by: Actor, *, days: float) -> None:
    """Move a booking by whole days."""
    async with runtime.transaction(by) as work:
        start = await work.db.fetchval("select starts_at from bookings where id = $1", payment.booking_id)
        await bookings.reschedule_booking(work, BookingRef(payment.booking_id, None), start + timedelta(days=days))


async def test_a_cancellation_gives_back_what_an_unread_refund_has_left(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    books.refund(intent_of(payment), 900)
    await cancel(runtime, payment)
    await tick(runtime, clock)

    assert money(books) == 0
    assert [each["amount"] for each in books.list("refund")] == [900, 4000]
    made = sorted((each.reason, each.amount, each.state) for each in await refunds(runtime, payment))
    assert made == [("cancelled", 4000, "succeeded"), ("outside", 900, "succeeded")]
    assert await problems(runtime, payment) == []
    assert await revenue(runtime) == (PRICE, PRICE)


async def test_a_cancellation_after_everything_was_refunded_unread_needs_nobody(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    books.refund(intent_of(payment))
    await cancel(runtime, payment)
    await tick(runtime, clock)
    made = sorted((each.reason, each.state) for each in await refunds(runtime, payment))
    assert made == [("cancelled", "canceled"), ("outside", "succeeded")]
    assert await problems(runtime, payment) == []
    assert '"refunded"' in str((await told(runtime, payment)).payment)


async def test_a_part_that_is_refused_is_told_and_nothing_else_is_given_back(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock, user: User
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    books.refund(intent_of(payment), 4000)
    async with runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, user, payment.id, amount=3000)
    await tick(runtime, clock)
    assert money(books) == 900
    assert await problems(runtime, payment) == ["refund_failed"]


async def test_a_former_member_refunds_nothing_of_the_organizations_account(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock, user: User
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    async with runtime.transaction(OPERATOR) as work:
        organization = await organizations.add_organization(work, name="Studio", slug="studio")
    await runtime.pool.execute(
        """insert into memberships (id, organization_id, user_id, created_at, updated_at)
        values (gen_random_uuid(), $1, $2, now(), now())""",
        organization.id,
        user.id,
    )
    await runtime.pool.execute("update payment_connections set user_id = null, organization_id = $1", organization.id)
    async with runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, user, payment.id, amount=900)
        assert (await queries.get_overview(work, user, payment.id)).refundable == 4000
    await runtime.pool.execute("update memberships set active = false where user_id = $1", user.id)
    async with runtime.transaction(OPERATOR) as work:
        assert (await queries.get_overview(work, user, payment.id)).refundable == 0
        with pytest.raises(RefundNotAllowed):
            await operations.refund_payment(work, user, payment.id, amount=900)
        # The operator of the service still can.
        await operations.refund_payment(work, None, payment.id, amount=900)
    await tick(runtime, clock)
    assert money(books) == PRICE - 1800


async def test_a_part_in_a_currency_with_three_decimals_ends_in_zero(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books, clock: MovingClock
) -> None:
    abroad = await offer(runtime, user, "abroad", price=Money(12340, "KWD"))
    payment = await book_and_pay(client, runtime, abroad, books)
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(Invalid) as refused:
            await operations.refund_payment(work, user, payment.id, amount=1234)
        assert "must end in 0" in str(refused.value.details)
        await operations.refund_payment(work, user, payment.id, amount=1230)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).refunded_amount == 1230


async def test_an_old_answer_never_sets_a_refund_back(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, line: SlowCheckouts
) -> None:
    books.refunds_begin = "pending"
    payment = await book_and_pay(client, runtime, paid, books)
    refund = books.refund(intent_of(payment), 900)
    await operations.read_anew(runtime, payment.id)
    pause = Pause()
    line.pauses.append(pause)
    late = asyncio.create_task(operations.read_anew(runtime, payment.id))
    await pause.has_answered.wait()
    books.settle_refund(refund["id"])
    await operations.read_anew(runtime, payment.id)
    assert [each.state for each in await refunds(runtime, payment)] == [RefundState.SUCCEEDED]
    pause.goes_on.set()
    await late
    assert [each.state for each in await refunds(runtime, payment)] == [RefundState.SUCCEEDED]


@pytest.mark.parametrize(
    ("moves", "after", "back"),
    [
        # Friday 10:00, from Monday 7:00; the deadline is Thursday 10:00.
        (((3.5, PUBLIC, 3),), 0, 0),
        (((3.5, PUBLIC, 3), (0.1, PUBLIC, 1)), 0, 0),
        (((3, PUBLIC, 3),), 0, PRICE),
        (((3, PUBLIC, 3),), 3.5, 0),
        # The host's side has moved it: the invitee may refuse the new time.
        (((3.5, OPERATOR, 3),), 0, PRICE),
        (((3.5, PUBLIC, 3), (0.1, OPERATOR, 1)), 0, PRICE),
        (((2, OPERATOR, -1),), 0.7, PRICE),
    ],
)
async def test_moving_a_booking_does_not_reopen_the_time_for_a_refund(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    moves: tuple[tuple[float, Actor, float], ...],
    after: float,
    back: int,
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = 'until:24' where id = $1", paid.id)
    payment = await book_and_pay(client, runtime, paid, books)
    for wait, by, days in moves:
        clock.pass_time(days=wait)
        await move(runtime, payment, by, days=days)
    clock.pass_time(days=after)
    await cancel(runtime, payment)
    await tick(runtime, clock)
    assert PRICE - money(books) == back
    assert (await reload(runtime, payment)).refunded_amount == back


async def test_a_second_problem_does_not_hide_the_first(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    refund = books.refund(intent_of(payment), 900)
    dispute = books.dispute(intent_of(payment))
    await operations.read_anew(runtime, payment.id)
    books.fail_refund(refund["id"])
    await operations.read_anew(runtime, payment.id)
    assert (await reload(runtime, payment)).problems == ("disputed", "refund_failed")

    books.close_dispute(dispute["id"], is_won=True)
    await operations.read_anew(runtime, payment.id)
    assert (await reload(runtime, payment)).problems == ("refund_failed",)
