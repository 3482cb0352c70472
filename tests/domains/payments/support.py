"""An invitee who books a meeting that costs something, and the worker that does what follows."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
from msgspec import Struct

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import jobs, operations, store
from openslot.domains.payments.models import CheckoutSession, StoredPayment, StoredRefund
from openslot.platform.core.actor import PUBLIC, Actor
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from openslot.vendors.stripe.checkout import StripeCheckout
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_stripe import Books
from tests.support.payments import ImpatientCheckouts

TEN = "2026-03-20T10:00:00Z"
"""A Friday; the clock begins on the Monday before."""
PRICE = 4900


class Told(Struct, frozen=True):
    """What the world was told of a booking."""

    events: tuple[str, ...]
    status: str
    payment: dict[str, Any]


def body_of(event_type: EventType, start: str = TEN, **changes: Any) -> dict[str, Any]:
    body = {
        "eventTypeId": str(event_type.id),
        "startTime": start,
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": "jonas@okafor.example",
        "inviteeTimezone": "Africa/Lagos",
    }
    return body | changes


async def book(
    client: httpx2.AsyncClient, event_type: EventType, start: str = TEN, *, key: str | None = None, **changes: Any
) -> httpx2.Response:
    headers = {"idempotency-key": key} if key else {}
    return await client.post("/api/bookings", json=body_of(event_type, start, **changes), headers=headers)


async def find(runtime: Runtime, answer: httpx2.Response) -> StoredPayment:
    """Find the payment of a booking that was just made."""
    payment = await store.find_stored_payment(runtime.pool, UUID(answer.json()["bookingId"]))
    assert payment is not None
    return payment


async def reload(runtime: Runtime, payment: StoredPayment) -> StoredPayment:
    found = await store.find_stored_payment(runtime.pool, payment.booking_id)
    assert found is not None
    return found


async def refunds(runtime: Runtime, payment: StoredPayment) -> list[StoredRefund]:
    return await store.list_refunds(runtime.pool, payment.id)


def session_of(payment: StoredPayment) -> str:
    assert payment.session_id is not None
    return payment.session_id


def intent_of(payment: StoredPayment) -> str:
    assert payment.intent_id is not None
    return payment.intent_id


async def tick(runtime: Runtime, clock: MovingClock) -> None:
    """Do what the worker does each minute."""
    for job in jobs.PAYMENT_JOBS:
        await run_job(runtime, job)
    await work_off(runtime, clock)


async def told(runtime: Runtime, payment: StoredPayment) -> Told:
    rows = await runtime.pool.fetch(
        "select type from events where subject_id = $1 and public is not null order by no", payment.booking_id
    )
    row = await runtime.pool.fetchrow("select status, payment from bookings where id = $1", payment.booking_id)
    assert row is not None
    return Told(tuple(each["type"] for each in rows), row["status"], row["payment"])


def money(books: Books) -> int:
    """Count what the account has kept of all that was paid."""
    paid = sum(each["amount"] for each in books.list("charge") if each["status"] == "succeeded")
    back = sum(each["amount"] for each in books.list("refund") if each["status"] in {"pending", "succeeded"})
    return int(paid - back)


async def book_and_pay(
    client: httpx2.AsyncClient, runtime: Runtime, event_type: EventType, books: Books, start: str = TEN
) -> StoredPayment:
    """Book a time, pay for it, and let that be known."""
    payment = await find(runtime, await book(client, event_type, start))
    books.pay(session_of(payment))
    return await operations.read_anew(runtime, payment.id)


async def cancel(runtime: Runtime, payment: StoredPayment, actor: Actor = PUBLIC) -> None:
    async with runtime.transaction(actor) as work:
        await bookings.cancel_booking(work, BookingRef(payment.booking_id, None))


async def problems(runtime: Runtime, payment: StoredPayment) -> list[str]:
    """List what the host was told to look at."""
    rows = await runtime.pool.fetch(
        """select fact ->> 'problem' as problem from events
        where subject_id = $1 and type = 'payment.needs_attention' order by no""",
        payment.booking_id,
    )
    return [row["problem"] for row in rows]


async def revenue(runtime: Runtime) -> tuple[int, int]:
    """Read what was received and given back, on all days."""
    row = await runtime.pool.fetchrow("select sum(received)::int as came, sum(refunded)::int as went from revenue")
    return (row["came"], row["went"]) if row else (0, 0)


class Pause:
    """Holds an answer of the provider back."""

    def __init__(self) -> None:
        self.has_answered, self.goes_on = asyncio.Event(), asyncio.Event()


class SlowCheckout(StripeCheckout):
    """A line on which an answer may take long."""

    pauses: list[Pause]

    async def get_session(self, session_id: str) -> CheckoutSession:
        pause = self.pauses.pop() if self.pauses else None
        session = await super().get_session(session_id)
        if pause is not None:
            pause.has_answered.set()
            await pause.goes_on.wait()
        return session


class SlowCheckouts(ImpatientCheckouts):
    """Lets the answer to the next reading wait for each pause."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.pauses: list[Pause] = []

    def open(self, outbound: Outbound, key: str) -> StripeCheckout:
        checkout = SlowCheckout(outbound, url=self._url, key=key, sleep=lambda _: asyncio.sleep(0))
        checkout.pauses = self.pauses
        return checkout
