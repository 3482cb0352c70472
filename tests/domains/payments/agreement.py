"""What must be true in the end: money and bookings agree, and the world was told of each thing once."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.payments import rules, store
from openslot.domains.payments.models import PaymentState, Problem, StoredPayment
from openslot.platform.core.work import Runtime
from tests.support.fake_stripe import Books
from tests.support.races import find_disorder

TOLD = {Problem.REFUND_FAILED, Problem.DISPUTED, Problem.DISPUTE_LOST}


async def check_agreement(runtime: Runtime, books: Books, host: User, booked: Sequence[UUID]) -> None:
    """Compare what we know with what the provider knows, when everything has come to its end."""
    money = [await _check(runtime, books, booking_id) for booking_id in booked]
    rows = await runtime.pool.fetch("select received, refunded, payments from revenue where host_id = $1", host.id)
    assert sum(row["received"] for row in rows) == sum(came for came, _ in money)
    assert sum(row["refunded"] for row in rows) == sum(came - kept for came, kept in money)
    assert sum(row["payments"] for row in rows) == sum(came > 0 for came, _ in money)
    assert await find_disorder(runtime.pool) == {}


async def _check(runtime: Runtime, books: Books, booking_id: UUID) -> tuple[int, int]:
    payment = await store.find_stored_payment(runtime.pool, booking_id)
    row = await runtime.pool.fetchrow("select status, payment from bookings where id = $1", booking_id)
    assert payment is not None
    assert row is not None
    came, kept = _count_money(books, payment)
    assert (payment.state is PaymentState.PAID) is (came > 0), (payment, came)
    assert payment.refunded_amount == came - kept >= 0
    stored = await store.list_refunds(runtime.pool, payment.id)
    assert all(each.state != "wanted" for each in stored), stored
    assert sum(each.amount for each in stored if not each.state.is_lost) == came - kept
    _check_told(await _list_events(runtime, booking_id), row["status"])
    if row["status"] == "PENDING_PAYMENT":
        # Nothing is kept without a booking, unless a person was told of it.
        assert kept == 0 or TOLD.intersection(payment.problems), (payment, stored)
    assert f'"{rules.describe(payment).status}"' in row["payment"]
    return came, kept


def _check_told(events: list[str], status: str) -> None:
    if status == "PENDING_PAYMENT":
        assert events == []
    else:
        assert events[:2] == ["booking.created", "payment.received"], events
        assert events.count("booking.created") == events.count("payment.received") == 1
        assert events.count("booking.cancelled") == (status == "CANCELLED")


def _count_money(books: Books, payment: StoredPayment) -> tuple[int, int]:
    """Count at the provider what came for a payment, and what was kept of it."""
    sessions = [each for each in books.list("checkout.session") if _is_of(each, payment)]
    assert len(sessions) <= 1, sessions
    intents = {each["payment_intent"] for each in sessions} - {None}
    charges = [each for each in books.list("charge") if each["payment_intent"] in intents]
    came = sum(each["amount"] for each in charges if each["status"] == "succeeded")
    refunds = [each for each in books.list("refund") if each["payment_intent"] in intents]
    return came, came - sum(each["amount"] for each in refunds if each["status"] in {"pending", "succeeded"})


def _is_of(session: Any, payment: StoredPayment) -> bool:
    return str(payment.id) in session["metadata"].values()


async def _list_events(runtime: Runtime, booking_id: UUID) -> list[str]:
    rows = await runtime.pool.fetch(
        "select type from events where subject_id = $1 and public is not null order by no", booking_id
    )
    return [row["type"] for row in rows]
