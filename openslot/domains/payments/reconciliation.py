"""Payments beside what the provider says of them now: every difference by name. Nothing is changed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

from msgspec import Struct

from openslot.domains.bookings.models import Status
from openslot.domains.event_types.models import Money
from openslot.domains.payments import rules, store
from openslot.domains.payments.connections.accounts import opened_payment_account
from openslot.domains.payments.connections.store import get_stored_connection
from openslot.domains.payments.models import (
    CheckoutSession,
    CheckoutStatus,
    PaymentConnection,
    PaymentState,
    RefundState,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.ports import Checkout, CheckoutFault, CheckoutRefused
from openslot.domains.payments.refunds.rules import count_refundable, find_refund, state_of_refund
from openslot.domains.payments.store import FoundPayment
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.work import Runtime

GONE = 404
DISCONNECTED = "The account is disconnected"


class Difference(Struct, frozen=True, kw_only=True, rename="camel"):
    """A difference between our record and the provider's; None where one of them knows nothing of it."""

    payment_id: str
    booking_id: UUID | None = None
    field: str
    ours: str | None
    theirs: str | None


class Unread(Struct, frozen=True, kw_only=True, rename="camel"):
    """Payments that the provider could not be asked about."""

    connection_id: UUID | None
    payments: int
    reason: str


class Reconciliation(Struct, kw_only=True):
    checked: int = 0
    differences: list[Difference] = []
    unread: list[Unread] = []


async def reconcile(runtime: Runtime, *, host_id: UUID | None, since: datetime) -> Reconciliation:
    """Compare all payments made since then, of one host or of all, with what the provider says now."""
    result = Reconciliation()
    payments = await store.list_since(runtime.pool, host_id, since=since)
    for connection_id, group in groupby(payments, key=lambda each: each.connection_id):
        account = list(group)
        connection = await get_stored_connection(runtime.pool, connection_id) if connection_id else None
        if connection is None or connection.key is None:
            result.unread.append(Unread(connection_id=connection_id, payments=len(account), reason=DISCONNECTED))
        else:
            await _compare_account(runtime, connection, account, result, since=since)
    return result


async def _compare_account(
    runtime: Runtime,
    connection: PaymentConnection,
    payments: list[StoredPayment],
    result: Reconciliation,
    *,
    since: datetime,
) -> None:
    left = len(payments)
    try:
        async with opened_payment_account(runtime, connection) as checkout:
            for payment in payments:
                result.differences += await _compare_one(runtime, checkout, payment)
                result.checked, left = result.checked + 1, left - 1
            result.differences += await _find_unknown(runtime, checkout, since=since)
    except CheckoutFault as fault:
        result.unread.append(Unread(connection_id=connection.id, payments=left, reason=str(fault)))


async def _compare_one(runtime: Runtime, checkout: Checkout, payment: StoredPayment) -> list[Difference]:
    """Ask about one payment; what has changed here meanwhile is read after the provider, so that it counts."""
    session = await _ask(checkout, payment)
    found = await store.find_payment(runtime.pool, payment.id)
    if found is None:
        return []
    refunds = await store.list_refunds(runtime.pool, payment.id)
    return list(compare(found, refunds, session))


async def _ask(checkout: Checkout, payment: StoredPayment) -> CheckoutSession | None:
    if payment.session_id is None:
        return None
    try:
        return await checkout.get_session(payment.session_id)
    except CheckoutRefused as refused:
        if refused.status != GONE:
            raise
        return None


async def _find_unknown(runtime: Runtime, checkout: Checkout, *, since: datetime) -> list[Difference]:
    """Name what was paid with a reference of ours, and is no payment here."""
    told = {each.reference: each for each in await checkout.list_notices(since=since) if each.session_id}
    ours = {reference: told[reference] for reference in told if reference and SHAPE.fullmatch(reference)}
    known = await store.list_known(runtime.pool, list(ours))
    unknown = [notice for reference, notice in ours.items() if reference not in known]
    sessions = [await checkout.get_session(each.session_id) for each in unknown if each.session_id]
    return [
        Difference(payment_id=each.reference or "", field="payment", ours=None, theirs=each.id)
        for each in sessions
        if each.is_paid
    ]


def compare(
    found: FoundPayment, refunds: Sequence[StoredRefund], session: CheckoutSession | None
) -> Iterator[Difference]:
    """Name the fields in which a payment and its checkout differ."""
    payment = found.payment
    for field, ours, theirs in _list_fields(found, refunds, session):
        if ours != theirs:
            yield Difference(
                payment_id=str(payment.id), booking_id=payment.booking_id, field=field, ours=ours, theirs=theirs
            )


ComparedField = tuple[str, str | None, str | None]


def _list_fields(
    found: FoundPayment, refunds: Sequence[StoredRefund], session: CheckoutSession | None
) -> Iterator[ComparedField]:
    payment = found.payment
    if session is None:
        yield "checkout", payment.session_id, None
        return
    yield "amount", _write(payment.price), _write(session.amount)
    yield "state", _name_state(payment.state), _name_session(session)
    if payment.state is PaymentState.PAID:
        refunded = sum(each.amount.amount for each in session.refunds if not each.status.is_lost)
        yield "refundedAmount", str(payment.refunded_amount), str(refunded)
        yield "dispute", payment.dispute, rules.dispute_of(session)
        yield from _list_refunds(payment, refunds, session)
        yield from _list_booking(found, refunds)


def _list_refunds(
    payment: StoredPayment, refunds: Sequence[StoredRefund], session: CheckoutSession
) -> Iterator[ComparedField]:
    told = {each.id: each for each in session.refunds}
    for each in told.values():
        stored = find_refund(payment, refunds, each)
        yield f"refund {each.id}", stored.state if stored else None, state_of_refund(each)
    for stored in refunds:
        if stored.vendor_id is not None and stored.vendor_id not in told:
            yield f"refund {stored.vendor_id}", stored.state, None
        elif stored.vendor_id is None and stored.state is RefundState.WANTED:
            yield f"refund {stored.id}", stored.state, None


def _list_booking(found: FoundPayment, refunds: Sequence[StoredRefund]) -> Iterator[ComparedField]:
    """Money that was kept belongs to a meeting that was confirmed."""
    kept = count_refundable(found.payment, refunds)
    if kept and found.booking.status is Status.PENDING_PAYMENT:
        yield "booking", found.booking.status, _write(Money(kept, found.payment.price.currency))


def _name_state(state: PaymentState) -> str:
    """Name what the provider can know of a payment: it is paid, is being paid, or is over."""
    if state is PaymentState.OPENING:
        return "open"
    return "expired" if state is PaymentState.RELEASED else str(state)


def _name_session(session: CheckoutSession) -> str:
    if session.is_paid:
        return "paid"
    return "processing" if session.status is CheckoutStatus.COMPLETE else str(session.status)


def _write(money: Money) -> str:
    return f"{money.amount} {money.currency}"
