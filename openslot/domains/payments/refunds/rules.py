"""Decisions about refunds: which of ours the provider tells of, what has gone back, and what is left."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from openslot.domains.payments.models import (
    CheckoutSession,
    PaymentState,
    PaymentStep,
    Refund,
    RefundReason,
    RefundState,
    RefundStatus,
    StoredPayment,
    StoredRefund,
)
from openslot.platform.core.ids import new_id

PROVIDER = "provider"


def match_refunds(
    payment: StoredPayment, refunds: Sequence[StoredRefund], session: CheckoutSession, *, now: datetime
) -> list[StoredRefund]:
    """List the refunds that have changed at the provider, or were made there: ours are known by their step."""
    changed = []
    for told in session.refunds:
        state = state_of_refund(told)
        stored = find_refund(payment, refunds, told)
        if stored is None:
            changed.append(_note_outside(payment, told, state=state, now=now))
        elif (stored.state, stored.vendor_id) != (state, told.id):
            changed.append(replace(stored, state=state, vendor_id=told.id, error=told.failure, updated_at=now))
    return changed


def state_of_refund(told: Refund) -> RefundState:
    return RefundState.PENDING if told.status is RefundStatus.NEEDS_ACTION else RefundState(told.status)


def find_refund(payment: StoredPayment, refunds: Sequence[StoredRefund], told: Refund) -> StoredRefund | None:
    """Find what we know of a refund: by the provider's id, or by the step with which we have asked for it."""
    for each in refunds:
        is_ours = told.step is not None and told.step.startswith(
            f"{step_of_refund(payment, each).key.rpartition('-')[0]}-"
        )
        if each.vendor_id == told.id or (each.vendor_id is None and is_ours):
            return each
    return None


def step_of_refund(payment: StoredPayment, refund: StoredRefund) -> PaymentStep:
    return PaymentStep(payment.id, f"refund-{refund.id}", refund.attempt)


def _note_outside(payment: StoredPayment, told: Refund, *, state: RefundState, now: datetime) -> StoredRefund:
    return StoredRefund(
        id=new_id(),
        payment_id=payment.id,
        amount=told.amount.amount,
        reason=RefundReason.OUTSIDE,
        state=state,
        vendor_id=told.id,
        by=PROVIDER,
        error=told.failure,
        created_at=told.created_at,
        updated_at=now,
    )


def merge_refunds(refunds: Sequence[StoredRefund], changed: Sequence[StoredRefund]) -> list[StoredRefund]:
    by_id = {each.id: each for each in (*refunds, *changed)}
    return sorted(by_id.values(), key=lambda each: (each.created_at, each.id))


def sum_refunds(payment: StoredPayment, refunds: Sequence[StoredRefund]) -> StoredPayment:
    """Count what has gone back or is on its way, and whether the last refund has failed although money is left."""
    made = [each for each in refunds if each.state is not RefundState.WANTED]
    given = sum(each.amount for each in made if not each.state.is_lost)
    has_failed = bool(made) and made[-1].state.is_lost and given < payment.price.amount
    return replace(payment, refunded_amount=given, has_failed_refund=has_failed)


def count_refundable(payment: StoredPayment, refunds: Sequence[StoredRefund]) -> int:
    """Return what can still go back: what was paid without what has gone back, is on its way or asked for."""
    if payment.state is not PaymentState.PAID:
        return 0
    return max(0, payment.price.amount - sum(each.amount for each in refunds if not each.state.is_lost))


def reduce_refund_to_rest(payment: StoredPayment, refunds: Sequence[StoredRefund], refused: StoredRefund) -> int | None:
    """Return what is left if less than was asked for; None if the provider had another reason to refuse."""
    left = count_refundable(payment, [each for each in refunds if each.id != refused.id])
    return left if refused.is_rest and left < refused.amount else None
