"""Every pair of those who change a payment or its time, at the same moment: money and bookings agree afterwards."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import combinations_with_replacement, count, cycle, product
from pathlib import Path
from uuid import UUID

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.event_types.links import operations as links
from openslot.domains.event_types.models import EventType, Money, RollingWindow
from openslot.domains.payments import operations, store
from openslot.domains.payments.models import PaymentConnection, StoredPayment
from openslot.domains.payments.ports import Checkouts
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.payments.agreement import check_agreement
from tests.domains.payments.support import PRICE, session_of, tick
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MONDAY, MovingClock
from tests.support.fake_stripe import Books, FakeStripe, StripeRefusal
from tests.support.parts import LONG
from tests.support.payments import ImpatientCheckouts
from tests.support.races import find_disorder

ROUNDS = 4 if LONG else 1
starts = count()


class Round(Struct, kw_only=True):
    """A booking that waits for its payment, is paid though nobody knows it, or is confirmed, and its host."""

    runtime: Runtime
    clock: MovingClock
    books: Books
    host: User
    offer: EventType
    token: str | None
    """Of the link through which everything is booked."""
    payment: StoredPayment
    start: datetime
    booked: list[UUID]


@pytest.fixture
async def paid(runtime: Runtime, user: User, connection: PaymentConnection) -> EventType:
    """A meeting for money that can be booked far ahead: every round takes a time of its own."""
    return await offer(runtime, user, "paid", price=Money(PRICE, "EUR"), booking_window=RollingWindow(365))


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, fake_stripe: FakeStripe) -> AsyncIterator[Runtime]:
    fakes: dict[type, object] = {Checkouts: ImpatientCheckouts(fake_stripe.url)}
    async with open_runtime(settings, clock=clock, fakes=fakes) as opened:
        yield opened


async def read(at: Round) -> None:
    """Read because of a notice, or because somebody comes back to the landing page."""
    await operations.read_anew(at.runtime, at.payment.id)


async def read_by_job(at: Round) -> None:
    await at.runtime.pool.execute("update payments set next_read_at = created_at where id = $1", at.payment.id)
    await tick(at.runtime, at.clock)


async def open_again(at: Round) -> None:
    """Ask where to pay, as a retry does."""
    await operations.open_checkout(at.runtime, at.payment.booking_id)


async def give_up(at: Round) -> None:
    await operations.give_payment_up(at.runtime, at.payment.booking_id)


async def pay(at: Round) -> None:
    at.books.pay(session_of(at.payment))
    await operations.read_anew(at.runtime, at.payment.id)


async def cancel(at: Round) -> None:
    async with at.runtime.transaction(random.choice([PUBLIC, OPERATOR])) as work:
        await bookings.cancel_booking(work, BookingRef(at.payment.booking_id, None))


async def reschedule(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(
            work, BookingRef(at.payment.booking_id, None), at.start + timedelta(minutes=30)
        )


async def refund(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await operations.refund_payment(work, at.host, at.payment.id, amount=random.choice([None, 3000]))


async def book_the_same(at: Round) -> None:
    at.booked.append(await book(at.runtime, at.offer, at.start, at.token))


Writer = Callable[[Round], Awaitable[None]]
WRITERS: tuple[Writer, ...] = (
    read,
    read_by_job,
    open_again,
    give_up,
    pay,
    cancel,
    reschedule,
    refund,
    book_the_same,
)


async def book(runtime: Runtime, offer: EventType, start: datetime, token: str | None) -> UUID:
    invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
    wanted = BookingWanted(which=ById(offer.id, token), starts_at=start, invitee=invitee)
    booking = await runtime.run(PUBLIC, lambda work: operations.book_with_payment(work, wanted))
    await operations.open_checkout(runtime, booking.id)
    return booking.id


async def meet(at: Round, one: Writer, other: Writer) -> None:
    """Let two writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> None:
        await asyncio.sleep(random.random() * 0.006)
        with suppress(Refusal, StripeRefusal):
            await writer(at)

    await asyncio.gather(come(one), come(other))


async def test_no_pair_of_writers_costs_money_or_time(
    runtime: Runtime,
    clock: MovingClock,
    books: Books,
    user: User,
    paid: EventType,
    postgres_log: Path,
) -> None:
    # All of them come from one mail domain, and share a few days.
    runtime.settings = replace(runtime.settings, allowance_time=1000, hold_share=100)
    booked: list[UUID] = []
    async with runtime.transaction(OPERATOR) as work:
        token = (await links.create_booking_link(work, user, paid.id, uses=1000))[1].token
    states = cycle(("waits", "paid", "confirmed", "confirmed"))
    for (one, other), _ in product(combinations_with_replacement(WRITERS, 2), range(ROUNDS)):
        number, state = next(starts), next(states)
        start = MONDAY.replace(hour=9) + timedelta(days=1 + number // 6 % 4 + number // 24 * 7, hours=number % 6)
        booking_id = await book(runtime, paid, start, token)
        payment = await store.find_stored_payment(runtime.pool, booking_id)
        assert payment is not None
        if state != "waits":
            books.pay(session_of(payment))
        if state == "confirmed":
            payment = await operations.read_anew(runtime, payment.id)
        booked.append(booking_id)
        at = Round(
            runtime=runtime,
            clock=clock,
            books=books,
            host=user,
            offer=paid,
            token=token,
            payment=payment,
            start=start,
            booked=booked,
        )
        await meet(at, one, other)
        assert await find_disorder(runtime.pool) == {}, f"{one.__name__} and {other.__name__}"
    await tick(runtime, clock)
    for booking_id in booked:
        found = await store.find_stored_payment(runtime.pool, booking_id)
        assert found is not None
        await operations.read_anew(runtime, found.id)
    await check_agreement(runtime, books, user, booked)
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")
