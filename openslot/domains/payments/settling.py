"""What is done about a payment once the provider was read: each action in the transaction that has locked it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from openslot.domains.bookings import pending
from openslot.domains.bookings.models import Booking
from openslot.domains.payments import rules, store
from openslot.domains.payments.events import PaymentNeedsAttention, PaymentReceived, PaymentRefunded, RefundRequested
from openslot.domains.payments.models import (
    PaymentState,
    Problem,
    RefundReason,
    RefundState,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.refunds.rules import count_refundable, match_refunds, merge_refunds, sum_refunds
from openslot.domains.payments.rules import Confirm, Facts, Keep, Release, Return, TellHost
from openslot.domains.payments.store import FoundPayment
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.errors import Refusal
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work


@dataclass(slots=True, kw_only=True, eq=False)
class PaymentUpdate:
    """A locked payment with what has become of it so far in this transaction."""

    found: FoundPayment
    payment: StoredPayment
    booking: Booking
    refunds: list[StoredRefund]
    has_time: bool
    has_new_refunds: bool = False
    """Whether something of its refunds was written."""
    happened: list[Callable[["PaymentUpdate"], Event]] = field(default_factory=list)
    """The facts, written at the end, when all of the payment is known."""


async def settle(work: Work, found: FoundPayment, facts: Facts) -> StoredPayment:
    """Do all that follows from how a payment is now."""
    update = await begin_update(work, found, refunds=list(facts.refunds))
    actions = rules.decide(facts)
    if facts.session is not None:
        if update.payment.session_id is None:
            await store.forget_refused(work.db, update.booking.event_type_id)
        update.payment = rules.note_session(update.payment, facts.session)
    for action in actions:
        await ACTIONS[type(action)](work, update, facts, action)
    if facts.session is not None and update.payment.state is PaymentState.PAID:
        changed = match_refunds(update.payment, update.refunds, facts.session, now=work.now)
        await note_refunds(work, update, changed)
    forget_problems(update, is_known=facts.session is not None)
    return await finish_update(work, update)


async def begin_update(work: Work, found: FoundPayment, *, refunds: list[StoredRefund] | None = None) -> PaymentUpdate:
    stored = refunds if refunds is not None else await store.list_refunds(work.db, found.payment.id)
    return PaymentUpdate(
        found=found, payment=found.payment, booking=found.booking, refunds=stored, has_time=found.has_time
    )


async def finish_update(work: Work, update: PaymentUpdate) -> StoredPayment:
    """Write what has changed of a payment, what its booking tells of it, and the facts."""
    before, after = update.found.payment, update.payment
    if after != before or update.has_new_refunds:
        is_new = update.has_new_refunds or replace(after, next_read_at=before.next_read_at) != before
        after = replace(after, version=before.version + is_new, updated_at=work.now)
        await store.update_payment(work.db, after)
        update.payment = after
    told = rules.describe(after)
    if told != update.booking.payment:
        await pending.note_payment(work, update.booking.id, told)
    if update.happened:
        await work.record(*(write(update) for write in update.happened))
    return after


async def _confirm(work: Work, update: PaymentUpdate, facts: Facts, _: Confirm) -> None:
    await _receive(work, update, facts)
    try:
        async with work.attempt():
            update.booking = await pending.confirm_paid(
                work.acting_as(PUBLIC), update.booking.id, rules.describe(update.payment)
            )
    except Refusal:
        # The time was freed, and somebody else has it, or it is not offered any more.
        await _give_back(work, update, RefundReason.LATE)
        return
    update.happened.append(lambda closed: PaymentReceived(**_tell(work, closed)))


async def _return(work: Work, update: PaymentUpdate, facts: Facts, action: Return) -> None:
    await _receive(work, update, facts)
    if facts.session is not None:
        changed = match_refunds(update.payment, update.refunds, facts.session, now=work.now)
        await note_refunds(work, update, changed)
    await _give_back(work, update, action.reason)


async def _receive(work: Work, update: PaymentUpdate, facts: Facts) -> None:
    paid_at = (facts.session.paid_at if facts.session else None) or work.now
    update.payment = replace(update.payment, state=PaymentState.PAID, paid_at=paid_at)
    amount = update.payment.price.amount
    await store.add_revenue(work.db, update.payment, day=paid_at.date(), received=amount, payments=1)


async def _give_back(work: Work, update: PaymentUpdate, reason: RefundReason) -> None:
    if update.has_time:
        await pending.free_pending(work, update.booking.id)
    amount = count_refundable(update.payment, update.refunds)
    if not amount:
        return
    await want_refund(work, update, amount, reason, is_rest=True)
    if reason is RefundReason.LATE:
        tell_host(work, update, Problem.PAID_LATE)


async def _release(work: Work, update: PaymentUpdate, _: Facts, __: Release) -> None:
    if update.has_time:
        await pending.free_pending(work, update.booking.id)
        update.has_time = False
    update.payment = replace(update.payment, state=PaymentState.RELEASED)


async def _keep(_: Work, update: PaymentUpdate, __: Facts, action: Keep) -> None:
    update.payment = replace(update.payment, next_read_at=action.until)


async def _tell_host(work: Work, update: PaymentUpdate, _: Facts, action: TellHost) -> None:
    if action.problem is Problem.CHECKOUT_REFUSED and await store.forget_refused(work.db, update.booking.event_type_id):
        # The host knows of this price: only the newest booking says so.
        update.payment = replace(update.payment, problems=(action.problem,))
        return
    tell_host(work, update, action.problem)


def tell_host(work: Work, update: PaymentUpdate, problem: Problem) -> None:
    known = [each for each in update.payment.problems if each != problem]
    update.payment = replace(update.payment, problems=(*known, problem))
    update.happened.append(lambda closed: PaymentNeedsAttention(**_tell(work, closed), problem=problem))


def forget_problems(update: PaymentUpdate, *, is_known: bool) -> None:
    """Let nobody look at what is over."""
    remaining = rules.list_remaining_problems(update.payment, is_known=is_known)
    update.payment = replace(update.payment, problems=remaining)


async def want_refund(
    work: Work, update: PaymentUpdate, amount: int, reason: RefundReason, *, is_rest: bool
) -> StoredRefund:
    """Keep that money is to go back; the effect of this fact asks the provider for it."""
    refund = StoredRefund(
        id=new_id(),
        payment_id=update.payment.id,
        amount=amount,
        reason=reason,
        state=RefundState.WANTED,
        is_rest=is_rest,
        by=work.actor.kind,
        created_at=work.now,
        updated_at=work.now,
    )
    await store.save_refund(work.db, refund)
    update.refunds.append(refund)
    update.has_new_refunds = True
    update.happened.append(lambda closed: RefundRequested(**_tell(work, closed), refund=refund))
    return refund


async def note_refunds(work: Work, update: PaymentUpdate, changed: list[StoredRefund]) -> None:
    """Keep how refunds are at the provider, what has gone back in all, and the revenue."""
    known = {each.id: each for each in update.refunds}
    for refund in changed:
        await store.save_refund(work.db, refund)
        is_new = refund.id not in known or known[refund.id].state is RefundState.WANTED
        if is_new and refund.state is not RefundState.WANTED and not refund.state.is_lost:
            update.happened.append(partial(_tell_refunded, work, refund=refund))
    update.has_new_refunds = update.has_new_refunds or bool(changed)
    update.refunds = merge_refunds(update.refunds, changed)
    before = update.payment.refunded_amount
    update.payment = sum_refunds(update.payment, update.refunds)
    if update.payment.refunded_amount != before:
        refunded = update.payment.refunded_amount - before
        await store.add_revenue(work.db, update.payment, day=work.now.date(), refunded=refunded)


def _tell_refunded(work: Work, update: PaymentUpdate, *, refund: StoredRefund) -> Event:
    return PaymentRefunded(**_tell(work, update), refund=refund)


def _tell(work: Work, update: PaymentUpdate) -> dict[str, Any]:
    return {
        "payment": update.payment,
        "booking": update.booking,
        "event_type": update.found.details.event_type,
        "base_url": work.runtime.settings.public_url,
    }


ACTIONS: dict[type, Callable[[Work, PaymentUpdate, Facts, Any], Awaitable[None]]] = {
    Confirm: _confirm,
    Return: _return,
    Release: _release,
    Keep: _keep,
    TellHost: _tell_host,
}
