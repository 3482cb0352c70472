"""What is done about a payment once the provider was read: each action in the transaction that has locked it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from openslot.bookings import pending
from openslot.bookings.models import Booking
from openslot.core.actor import PUBLIC
from openslot.core.errors import Refusal
from openslot.core.events import Event
from openslot.core.ids import new_id
from openslot.core.work import Work
from openslot.payments import rules, store
from openslot.payments.events import PaymentNeedsAttention, PaymentReceived, PaymentRefunded, RefundRequested
from openslot.payments.models import (
    PaymentState,
    Problem,
    RefundReason,
    RefundState,
    StoredPayment,
    StoredRefund,
)
from openslot.payments.rules import Confirm, Facts, Keep, Release, Return, TellHost
from openslot.payments.store import FoundPayment


@dataclass(slots=True, kw_only=True, eq=False)
class Case:
    """A locked payment with what has become of it so far in this transaction."""

    found: FoundPayment
    payment: StoredPayment
    booking: Booking
    refunds: list[StoredRefund]
    has_time: bool
    happened: list[Callable[["Case"], Event]] = field(default_factory=list)
    """The facts, written at the end, when all of the payment is known."""


async def settle(work: Work, found: FoundPayment, facts: Facts) -> StoredPayment:
    """Do all that follows from how a payment is now."""
    case = await open_case(work, found, refunds=list(facts.refunds))
    actions = rules.decide(facts)
    if facts.session is not None:
        case.payment = rules.note_session(case.payment, facts.session)
    for action in actions:
        await ACTIONS[type(action)](work, case, facts, action)
    if facts.session is not None and case.payment.state is PaymentState.PAID:
        changed = rules.match_refunds(case.payment, case.refunds, facts.session, now=work.now)
        await note_refunds(work, case, changed)
    forget_problem(case, is_known=facts.session is not None)
    return await close_case(work, case)


async def open_case(work: Work, found: FoundPayment, *, refunds: list[StoredRefund] | None = None) -> Case:
    stored = refunds if refunds is not None else await store.list_refunds(work.db, found.payment.id)
    return Case(found=found, payment=found.payment, booking=found.booking, refunds=stored, has_time=found.has_time)


async def close_case(work: Work, case: Case) -> StoredPayment:
    """Write what has changed of a payment, what its booking tells of it, and the facts."""
    before, after = case.found.payment, case.payment
    if after != before:
        is_new = replace(after, next_read_at=before.next_read_at) != before
        after = replace(after, version=before.version + is_new, updated_at=work.now)
        await store.update_payment(work.db, after)
        case.payment = after
    told = rules.describe(after)
    if told != case.booking.payment:
        await pending.note_payment(work, case.booking.id, told)
    if case.happened:
        await work.record(*(write(case) for write in case.happened))
    return after


async def _confirm(work: Work, case: Case, facts: Facts, _: Confirm) -> None:
    await _receive(work, case, facts)
    try:
        async with work.attempt():
            case.booking = await pending.confirm_paid(
                work.acting_as(PUBLIC), case.booking.id, rules.describe(case.payment)
            )
    except Refusal:
        # The time was freed, and somebody else has it, or it is not offered any more.
        await _give_back(work, case, RefundReason.LATE)
        return
    case.happened.append(lambda closed: PaymentReceived(**_tell(work, closed)))


async def _return(work: Work, case: Case, facts: Facts, action: Return) -> None:
    await _receive(work, case, facts)
    if facts.session is not None:
        changed = rules.match_refunds(case.payment, case.refunds, facts.session, now=work.now)
        await note_refunds(work, case, changed)
    await _give_back(work, case, action.reason)


async def _receive(work: Work, case: Case, facts: Facts) -> None:
    paid_at = (facts.session.paid_at if facts.session else None) or work.now
    case.payment = replace(case.payment, state=PaymentState.PAID, paid_at=paid_at)
    amount = case.payment.price.amount
    await store.add_revenue(work.db, case.payment, day=paid_at.date(), received=amount, payments=1)


async def _give_back(work: Work, case: Case, reason: RefundReason) -> None:
    if case.has_time:
        await pending.free_pending(work, case.booking.id)
    amount = rules.refundable(case.payment, case.refunds)
    if not amount:
        return
    await want_refund(work, case, amount, reason)
    if reason is RefundReason.LATE:
        tell_host(work, case, Problem.PAID_LATE)


async def _release(work: Work, case: Case, _: Facts, __: Release) -> None:
    if case.has_time:
        await pending.free_pending(work, case.booking.id)
        case.has_time = False
    case.payment = replace(case.payment, state=PaymentState.RELEASED)


async def _keep(_: Work, case: Case, __: Facts, action: Keep) -> None:
    case.payment = replace(case.payment, next_read_at=action.until)


async def _tell_host(work: Work, case: Case, _: Facts, action: TellHost) -> None:
    tell_host(work, case, action.problem)


def tell_host(work: Work, case: Case, problem: Problem) -> None:
    case.payment = replace(case.payment, problem=problem)
    case.happened.append(lambda closed: PaymentNeedsAttention(**_tell(work, closed), problem=problem))


def forget_problem(case: Case, *, is_known: bool) -> None:
    """Let nobody look at what is over."""
    if not rules.is_still_a_problem(case.payment, is_known=is_known):
        case.payment = replace(case.payment, problem=None)


async def want_refund(work: Work, case: Case, amount: int, reason: RefundReason) -> StoredRefund:
    """Keep that money is to go back; the effect of this fact asks the provider for it."""
    refund = StoredRefund(
        id=new_id(),
        payment_id=case.payment.id,
        amount=amount,
        reason=reason,
        state=RefundState.WANTED,
        by=work.actor.kind,
        created_at=work.now,
        updated_at=work.now,
    )
    await store.save_refund(work.db, refund)
    case.refunds.append(refund)
    case.happened.append(lambda closed: RefundRequested(**_tell(work, closed), refund=refund))
    return refund


async def note_refunds(work: Work, case: Case, changed: list[StoredRefund]) -> None:
    """Keep how refunds are at the provider, what has gone back in all, and the revenue."""
    known = {each.id: each for each in case.refunds}
    for refund in changed:
        await store.save_refund(work.db, refund)
        is_new = refund.id not in known or known[refund.id].state is RefundState.WANTED
        if is_new and not refund.state.is_lost:
            case.happened.append(partial(_tell_refunded, work, refund=refund))
    case.refunds = rules.merge(case.refunds, changed)
    before = case.payment.refunded_amount
    case.payment = rules.sum_refunds(case.payment, case.refunds)
    if case.payment.refunded_amount != before:
        refunded = case.payment.refunded_amount - before
        await store.add_revenue(work.db, case.payment, day=work.now.date(), refunded=refunded)


def _tell_refunded(work: Work, case: Case, *, refund: StoredRefund) -> Event:
    return PaymentRefunded(**_tell(work, case), refund=refund)


def _tell(work: Work, case: Case) -> dict[str, Any]:
    return {
        "payment": case.payment,
        "booking": case.booking,
        "event_type": case.found.details.event_type,
        "base_url": work.runtime.settings.public_url,
    }


ACTIONS: dict[type, Callable[[Work, Case, Facts, Any], Awaitable[None]]] = {
    Confirm: _confirm,
    Return: _return,
    Release: _release,
    Keep: _keep,
    TellHost: _tell_host,
}
