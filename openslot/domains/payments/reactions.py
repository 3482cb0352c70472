"""What payments do because something happened: money goes back, and nobody pays a host who has left."""

from datetime import timedelta
from functools import partial
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.events import MemberRemoved, UserDeletionBegun, UserDisabled, UserEvent
from openslot.domains.bookings.events import BookingCancelled, BookingRescheduled
from openslot.domains.bookings.rules import is_host
from openslot.domains.event_types.accounts.operations import tell_owner_left
from openslot.domains.payments import operations, rules, settling, store
from openslot.domains.payments.connections.accounts import opened_payment_account
from openslot.domains.payments.errors import CheckoutNotOpened, PaymentNotFound, RefundNotPossible
from openslot.domains.payments.events import RefundRequested
from openslot.domains.payments.models import (
    Problem,
    Refund,
    RefundReason,
    RefundState,
    RefundWanted,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.notices.operations import to_connection
from openslot.domains.payments.ports import Checkout, CheckoutBusy, CheckoutFault, CheckoutRefused, CheckoutUnavailable
from openslot.domains.payments.refunds.rules import find_refund, reduce_refund_to_rest, state_of_refund, step_of_refund
from openslot.platform.core.actor import SYSTEM, Destination
from openslot.platform.core.events import Effect, Event
from openslot.platform.core.work import Consequence, Done, Outcome, Reaction, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason

READ = "payments.read"
DELAYS = tuple(
    timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600)
)
KEYS_LAST = timedelta(hours=12)
"""How long the provider is sure to know a request again; it promises a day."""

NOTHING_LEFT = "nothing_left"
PAYMENT_GONE = CodedReason("payments.gone", "the payment is gone")
NOTHING_TO_REFUND = CodedReason("payments.nothing_to_refund", "nothing is left to refund")
NOTHING_PAID = CodedReason("payments.nothing_paid", "nothing was paid")
REFUND_MADE = CodedReason("payments.refund_made", "the refund is made already")
BY_POLICY = CodedReason(
    "payments.by_policy", "the refund policy is: %(policy)s", said="the refund policy is %(policy)s"
)


class ReadPlan(Struct, frozen=True):
    payment_id: UUID


async def read(work: Work, effect: Effect) -> Outcome:
    """Read a payment from its provider; if that can't be asked, the payment says when to try again."""
    try:
        await operations.read_anew(work.runtime, effect.plan(ReadPlan).payment_id)
    except PaymentNotFound:
        return Skipped(PAYMENT_GONE)
    return Done()


async def refund_cancelled(work: Work, effect: Effect) -> Outcome:
    """Give a cancelled booking's money back, if its policy says so."""
    booking = effect.event(BookingCancelled).booking
    payment = await store.find_stored_payment(work.db, booking.id)
    if payment is None:
        return Skipped(NOTHING_PAID)
    if not rules.is_refunded_when_cancelled(payment, booking):
        return Skipped(BY_POLICY.fill(policy=payment.refund_policy))
    try:
        await work.runtime.run(SYSTEM, partial(_refund_rest, payment_id=payment.id))
    except (PaymentNotFound, RefundNotPossible):
        return Skipped(NOTHING_TO_REFUND)
    return Done()


async def _refund_rest(work: Work, *, payment_id: UUID) -> None:
    await operations.refund_payment(work, None, payment_id, reason=RefundReason.CANCELLED)


async def refund(work: Work, effect: Effect) -> Outcome:
    """Ask the provider once for a refund; a lost answer is asked for again by the same step."""
    wanted = effect.event(RefundRequested)
    stored = await store.find_refund(work.db, wanted.refund.id)
    payment = await store.find_stored_payment(work.db, wanted.booking.id)
    if stored is None or payment is None or stored.state is not RefundState.WANTED:
        return Skipped(REFUND_MADE)
    is_last = effect.attempts > len(DELAYS)
    try:
        made = await _make(work, payment, stored)
    except CheckoutRefused as fault:
        if await _reduce_to_rest(work, stored, is_last=is_last):
            return await refund(work, effect)
        error = f"{fault.status} {fault.code or ''}".strip()
        return Done(write=partial(_note_failed, refund_id=stored.id, error=error))
    except CheckoutFault as fault:
        if is_last:
            return Done(write=partial(_note_failed, refund_id=stored.id, error=type(fault).__name__))
        await _note_kept_fault(work, stored, fault)
        raise TryLater(str(fault), after=fault.after if isinstance(fault, CheckoutBusy) else None) from None
    if made is None:
        return Done(write=partial(_note_failed, refund_id=stored.id, error="disconnected"))
    return Done(vendor_id=made.id, write=partial(_note_made, refund_id=stored.id, made=made))


async def _make(work: Work, payment: StoredPayment, stored: StoredRefund) -> Refund | None:
    """Make a refund, unless it was made by an earlier request; None if the account was disconnected."""
    connection = await operations.find_connection(work.runtime, payment)
    if connection is None or payment.intent_id is None or payment.session_id is None:
        return None
    async with opened_payment_account(work.runtime, connection) as checkout:
        if stored.attempt > 1 or work.now - stored.created_at > KEYS_LAST:
            made = await _find_made(checkout, payment, payment.session_id, stored)
            if made is not None:
                return made
        amount = replace(payment.price, amount=stored.amount)
        return await checkout.create_refund(
            RefundWanted(intent_id=payment.intent_id, amount=amount), step_of_refund(payment, stored)
        )


async def _find_made(
    checkout: Checkout, payment: StoredPayment, session_id: str, stored: StoredRefund
) -> Refund | None:
    session = await checkout.get_session(session_id)
    return next((each for each in session.refunds if find_refund(payment, [stored], each)), None)


async def _reduce_to_rest(work: Work, refused: StoredRefund, *, is_last: bool) -> bool:
    """Read what was refunded in the provider's own pages, and if less is left, ask for that; False: it is not that."""
    if not refused.is_rest:
        return False
    try:
        known = await operations.read_anew(work.runtime, refused.payment_id)
    except CheckoutNotOpened:
        raise TryLater("the payment changes all the time") from None
    if known.next_read_at is not None and not is_last:
        raise TryLater("what is left could not be read")
    return await work.runtime.run(SYSTEM, partial(_want_less, refused=refused))


async def _want_less(work: Work, *, refused: StoredRefund) -> bool:
    found = await store.lock_payment(work.db, refused.payment_id)
    current = await store.find_refund(work.db, refused.id)
    if found is None or current is None or current.state is not RefundState.WANTED:
        return True
    update = await settling.begin_update(work, found)
    left = reduce_refund_to_rest(found.payment, update.refunds, current)
    if left is None:
        return False
    if left:
        changed = replace(current, amount=left, attempt=current.attempt + 1, updated_at=work.now)
    else:
        changed = replace(current, state=RefundState.CANCELLED, error=NOTHING_LEFT, updated_at=work.now)
    await settling.note_refunds(work, update, [changed])
    await settling.finish_update(work, update)
    return True


async def _note_kept_fault(work: Work, stored: StoredRefund, fault: CheckoutFault) -> None:
    """Ask by a new step after the provider has kept a fault of its own as the answer to this one."""
    if isinstance(fault, CheckoutUnavailable) and fault.needs_new_attempt:
        await store.begin_attempt(work.db, stored, now=work.now)


async def _note_made(work: Work, *, refund_id: UUID, made: Refund) -> None:
    await _note(work, refund_id, state=state_of_refund(made), vendor_id=made.id, error=made.failure)


async def _note_failed(work: Work, *, refund_id: UUID, error: str) -> None:
    await _note(work, refund_id, state=RefundState.FAILED, vendor_id=None, error=error)


async def _note(work: Work, refund_id: UUID, *, state: RefundState, vendor_id: str | None, error: str | None) -> None:
    """Keep the provider's answer, unless a notice of the same refund was read before."""
    stored = await store.find_refund(work.db, refund_id)
    found = await store.lock_payment(work.db, stored.payment_id) if stored else None
    current = await store.find_refund(work.db, refund_id)
    if found is None or current is None or current.state is not RefundState.WANTED:
        return
    update = await settling.begin_update(work, found)
    changed = replace(current, state=state, vendor_id=vendor_id, error=error, updated_at=work.now)
    await settling.note_refunds(work, update, [changed])
    if state.is_lost:
        settling.tell_host(work, update, Problem.REFUND_FAILED)
    settling.forget_problems(update, is_known=False)
    await settling.finish_update(work, update)


async def keep_refund_until(work: Work, event: Event) -> None:
    """Keep until when everything goes back: an invitee who moves a booking can't reopen a time that has passed."""
    if not isinstance(event, BookingRescheduled) or event.booking.payment is None:
        return
    payment = await store.find_stored_payment(work.db, event.booking.id)
    if payment is None:
        return
    until = rules.move_refund_until(
        payment,
        event.previous_starts_at,
        event.booking.starts_at,
        is_by_invitee=not is_host(work.actor),
        now=work.now,
    )
    await store.keep_refund_until(work.db, payment.id, until)


async def leave(work: Work, effect: Effect) -> Outcome:
    """Let nobody pay a host who has left: what is open is ended, and what was paid goes back.

    The deletion of an account waits for it, because nobody could give the money back afterwards.
    """
    host_id = effect.event(UserEvent).user_id
    await store.read_soon_of_host(work.db, host_id, now=work.now)
    if effect.event_type == UserDeletionBegun.type and await store.count_under_way(work.db, host_id):
        raise TryLater("payments are under way", after=timedelta(minutes=1), answered=True)
    return Done()


async def tell_left(work: Work, event: Event) -> None:
    """Tell who has left an organization which of their event types were paid to its account."""
    assert isinstance(event, MemberRemoved)  # noqa: S101 - it runs on this event alone
    await tell_owner_left(work, event.user_id, organization_id=event.organization_id)


def _to_provider(_: Work, effect: Effect) -> Destination:
    payment = effect.event(RefundRequested).payment
    return Destination(f"payments/{payment.connection_id}", payment.host_id)


PAYMENT_CONSEQUENCES = (
    Consequence(name="payments.keep_refund_until", on=BookingRescheduled, run=keep_refund_until),
    Consequence(name="payments.tell_left", on=MemberRemoved, run=tell_left),
)
PAYMENT_REACTIONS = (
    Reaction(name=READ, run=read, destination=to_connection),
    Reaction(name="payments.refund", on=(RefundRequested,), run=refund, destination=_to_provider, delays=DELAYS),
    Reaction(name="payments.refund_cancelled", on=(BookingCancelled,), run=refund_cancelled, wanted_if=store.IS_PAID),
    Reaction(
        name="payments.leave",
        on=(UserDisabled, UserDeletionBegun),
        run=leave,
        wanted_if=store.HAS_PAYMENTS,
        delays=DELAYS,
    ),
)
