"""Decisions about payments: what follows from what the provider says, what is told of it, and when it goes back."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import UNSET, Struct
from msgspec.structs import replace

from openslot.domains.bookings.models import Booking, Payment, Status
from openslot.domains.payments.models import (
    CheckoutSession,
    CheckoutStatus,
    DisputeOutcome,
    PaymentState,
    Problem,
    RefundReason,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.refunds.rules import match_refunds
from openslot.platform.core.times import iso

PAYS_WITHIN = timedelta(minutes=33)
"""How long the provider lets people pay: its shortest time is 30 minutes by its own clock."""
HELD_LONGER = timedelta(minutes=3)
"""How much longer the time is kept, so that nobody pays for a time that was freed."""
LEARNED_AFTER = timedelta(minutes=2)
"""When a checkout is looked for whose request was cut off."""
RETRIED_AFTER = timedelta(minutes=1)
LOST_AFTER = timedelta(hours=24)
"""How long the time is kept when the provider can't be asked."""
LATE_EVERY, LATE_WITHIN = timedelta(hours=1), timedelta(days=30)
"""How often, and how long, a payment is read whose end is not known."""
READ_WITHIN = timedelta(days=180)
"""How long after it was made a payment is read again that could not be read."""
DELAYED_WITHIN, DELAYED_BEFORE = timedelta(days=7), timedelta(hours=24)
"""How long money of a delayed method is waited for, and how long before the start it must have come."""
INVITEE = "invitee"
DISPUTE_PROBLEMS = {DisputeOutcome.OPEN: Problem.DISPUTED, DisputeOutcome.LOST: Problem.DISPUTE_LOST}


class Facts(Struct, frozen=True, kw_only=True):
    """All that decides about a payment."""

    payment: StoredPayment
    booking: Booking
    has_time: bool
    """Whether the booking's time is claimed for it."""
    host_left: bool
    refunds: tuple[StoredRefund, ...] = ()
    session: CheckoutSession | None
    """The session as the provider has just told it; None if it could not be asked."""
    is_absent: bool = False
    """Whether it is sure that the provider has no checkout for this payment, and never will."""
    is_refused: bool = False
    """Whether it has refused to open one: the price is not one that it takes."""
    is_cut_off: bool = False
    """Whether the provider can't be asked any more: its account was disconnected."""
    gives_up: bool = False
    """Whether nobody waits for the checkout any more: the invitee does not want to pay, or was told to try again."""
    now: datetime


class Confirm(Struct, frozen=True):
    """The money has come: confirm the booking; if its time is gone, the money goes back."""


class Return(Struct, frozen=True):
    """The money has come and the meeting can't take place: all of it goes back."""

    reason: RefundReason


class Release(Struct, frozen=True):
    """Free the time."""


class Keep(Struct, frozen=True):
    """Read the provider again at that time; None if only when it tells that something has happened."""

    until: datetime | None


class TellHost(Struct, frozen=True):
    """Money and booking need a person."""

    problem: Problem


Action = Confirm | Return | Release | Keep | TellHost


def decide(facts: Facts) -> tuple[Action, ...]:
    """Say what follows from how a payment is now; it is the same in whatever order things have happened."""
    return tuple(_decide(facts))


def _decide(facts: Facts) -> Iterator[Action]:
    session = facts.session
    if facts.payment.state is PaymentState.PAID:
        yield from _look_after(facts)
    elif facts.is_absent:
        if facts.is_refused and Problem.CHECKOUT_REFUSED not in facts.payment.problems:
            yield TellHost(Problem.CHECKOUT_REFUSED)
        yield from _release(facts)
    elif session is None:
        yield from _wait_for_provider(facts)
    elif session.is_paid:
        yield from _settle(facts, session)
    elif session.status is CheckoutStatus.EXPIRED or session.has_failed:
        yield from _release(facts)
    elif session.status is CheckoutStatus.COMPLETE:
        yield from _wait_for_money(facts)
    else:
        yield Keep(max(facts.payment.held_until, facts.now + RETRIED_AFTER))


def _look_after(facts: Facts) -> Iterator[Action]:
    if facts.session is not None:
        yield from _tell_changes(facts, facts.session)
    is_late = facts.now >= facts.payment.created_at + READ_WITHIN
    yield Keep(None if facts.session or facts.is_cut_off or is_late else facts.now + LATE_EVERY)


def must_end(facts: Facts) -> bool:
    """Return whether nobody is to pay any more: the checkout must be ended before its time is freed."""
    session, payment = facts.session, facts.payment
    if session is None or session.status is not CheckoutStatus.OPEN or session.is_paid:
        return False
    is_over = facts.now >= payment.held_until or payment.state is PaymentState.RELEASED
    return is_over or facts.gives_up or facts.host_left


def _settle(facts: Facts, session: CheckoutSession) -> Iterator[Action]:
    if session.amount != facts.payment.price:
        yield from _refuse_amount(facts, session)
        return
    if facts.host_left:
        yield Return(RefundReason.HOST)
    elif is_returned(session):
        yield Return(RefundReason.OUTSIDE)
    elif facts.booking.ends_at <= facts.now or facts.booking.status is not Status.PENDING_PAYMENT:
        yield Return(RefundReason.LATE)
    else:
        yield Confirm()
    yield from _tell_changes(facts, session)
    yield Keep(None)


def _refuse_amount(facts: Facts, session: CheckoutSession) -> Iterator[Action]:
    """Nobody but a person knows what was meant: the time is kept until they have given all of the money back."""
    if is_returned(session):
        yield from _release(facts)
        return
    if Problem.AMOUNT_DIFFERS not in facts.payment.problems:
        yield TellHost(Problem.AMOUNT_DIFFERS)
    yield Keep(None)


def _release(facts: Facts) -> Iterator[Action]:
    if facts.payment.state is not PaymentState.RELEASED or facts.has_time:
        yield Release()
    yield Keep(None)


def _wait_for_provider(facts: Facts) -> Iterator[Action]:
    if facts.payment.session_id is None:
        yield from _wait_for_checkout(facts)
        return
    payment, now = facts.payment, facts.now
    keeps_until = max(payment.held_until, _money_comes_by(facts))
    if payment.state is PaymentState.RELEASED:
        is_late = facts.is_cut_off or now >= payment.held_until + LATE_WITHIN
        yield Keep(None if is_late else now + LATE_EVERY)
    elif now < keeps_until + (timedelta() if facts.is_cut_off else LOST_AFTER):
        yield Keep(min(keeps_until, now + LATE_EVERY) if facts.is_cut_off else now + RETRIED_AFTER)
    else:
        yield Release()
        yield TellHost(Problem.PROVIDER_LOST)
        yield Keep(None if facts.is_cut_off else now + LATE_EVERY)


def _wait_for_checkout(facts: Facts) -> Iterator[Action]:
    """Nobody was told where to pay: the time is freed, and a checkout that was made nevertheless is looked for."""
    is_over = facts.now >= facts.payment.held_until
    if facts.payment.state is not PaymentState.RELEASED and (is_over or facts.gives_up):
        yield Release()
    yield Keep(None if is_over or facts.is_cut_off else facts.now + RETRIED_AFTER)


def _wait_for_money(facts: Facts) -> Iterator[Action]:
    until = money_comes_by(facts.payment, facts.booking)
    is_released = facts.payment.state is PaymentState.RELEASED
    if not is_released and facts.now < until and not facts.host_left:
        yield Keep(min(until, facts.now + LATE_EVERY))
        return
    if not is_released or facts.has_time:
        yield Release()
    # The provider tells when the money comes; it is looked for as well, should that get lost.
    yield Keep(facts.now + LATE_EVERY if facts.now < facts.payment.created_at + LATE_WITHIN else None)


def _money_comes_by(facts: Facts) -> datetime:
    is_processing = facts.payment.state is PaymentState.PROCESSING
    return money_comes_by(facts.payment, facts.booking) if is_processing else facts.payment.held_until


def money_comes_by(payment: StoredPayment, booking: Booking) -> datetime:
    """Return until when the time is kept for money of a delayed method."""
    return min(booking.starts_at - DELAYED_BEFORE, payment.created_at + DELAYED_WITHIN)


def _tell_changes(facts: Facts, session: CheckoutSession) -> Iterator[Action]:
    outcome = dispute_of(session)
    if outcome is not facts.payment.dispute and outcome in DISPUTE_PROBLEMS:
        yield TellHost(DISPUTE_PROBLEMS[outcome])
    changed = match_refunds(facts.payment, facts.refunds, session, now=facts.now)
    if any(each.state.is_lost for each in changed):
        yield TellHost(Problem.REFUND_FAILED)


def dispute_of(session: CheckoutSession) -> DisputeOutcome | None:
    """Return what counts of a payment's disputes: one that is open, else one that was lost, else the last."""
    outcomes = [each.outcome for each in session.disputes]
    ordered = (DisputeOutcome.OPEN, DisputeOutcome.LOST, DisputeOutcome.WON)
    return next((each for each in ordered if each in outcomes), None)


def is_returned(session: CheckoutSession) -> bool:
    """Return whether all of the money has gone back already."""
    return sum(each.amount.amount for each in session.refunds if not each.status.is_lost) >= session.amount.amount


def note_session(payment: StoredPayment, session: CheckoutSession) -> StoredPayment:
    """Keep what the provider says of a checkout; that it is paid, or over, is decided."""
    noted = replace(
        payment,
        session_id=session.id,
        url=payment.url or session.url,
        intent_id=session.intent_id or payment.intent_id,
        receipt_url=session.receipt_url or payment.receipt_url,
        dispute=dispute_of(session),
        respond_by=min((each.respond_by for each in session.disputes if each.respond_by), default=None),
    )
    if payment.state in {PaymentState.PAID, PaymentState.RELEASED}:
        return noted
    is_processing = session.status is CheckoutStatus.COMPLETE and not session.is_paid
    return replace(noted, state=PaymentState.PROCESSING if is_processing else PaymentState.OPEN)


def is_refunded_when_cancelled(payment: StoredPayment, booking: Booking) -> bool:
    """Return whether the money goes back: always if the host's side cancels, else by the policy."""
    if booking.cancelled_by != INVITEE or payment.refund_policy == "full":
        return True
    until = refund_until(payment, booking.starts_at)
    return until is not None and (booking.cancelled_at or booking.starts_at) <= until


def refund_until(payment: StoredPayment, starts_at: datetime) -> datetime | None:
    """Return until when an invitee who cancels gets everything back; None if never, or without a limit."""
    _, _, hours = payment.refund_policy.partition("until:")
    if not hours:
        return None
    return payment.refund_until or starts_at - timedelta(hours=int(hours))


def is_refund_over(payment: StoredPayment, booking: Booking) -> bool:
    """Return whether a booking was moved when the time for a refund had passed: its start says nothing about it."""
    until = refund_until(payment, booking.starts_at)
    by_start = refund_until(replace(payment, refund_until=None), booking.starts_at)
    return until is not None and by_start is not None and until < by_start


def move_refund_until(
    payment: StoredPayment, before: datetime, after: datetime, *, is_by_invitee: bool, now: datetime
) -> datetime | None:
    """Return until when everything goes back after a booking was moved.

    An invitee can't reopen a time that has passed by moving the booking; one whom the host moves loses no time.
    """
    known = refund_until(payment, before)
    if known is None:
        return None
    moved = refund_until(replace(payment, refund_until=None), after)
    if is_by_invitee:
        return known if now > known else moved
    return max(known, moved or known)


def as_if_cancelled(booking: Booking, *, now: datetime) -> Booking:
    """Return a booking as its invitee would cancel it now; one that is cancelled stays as it is."""
    if booking.status is Status.CANCELLED:
        return booking
    return replace(booking, cancelled_by=INVITEE, cancelled_at=now)


def list_remaining_problems(payment: StoredPayment, *, is_known: bool) -> tuple[str, ...]:
    """List why a person must still look at a payment, after the provider has told, or has not, how it is."""
    remains: dict[str, bool] = {
        Problem.AMOUNT_DIFFERS: payment.state is not PaymentState.PAID,
        Problem.PAID_LATE: payment.refunded_amount < payment.price.amount,
        Problem.REFUND_FAILED: payment.has_failed_refund,
        Problem.DISPUTED: payment.dispute is DisputeOutcome.OPEN,
        Problem.DISPUTE_LOST: payment.dispute is DisputeOutcome.LOST,
        Problem.CHECKOUT_REFUSED: payment.session_id is None,
        Problem.PROVIDER_LOST: not is_known,
    }
    return tuple(each for each in payment.problems if remains[each])


def status_of(payment: StoredPayment) -> str:
    """Return what people are told of the money; `STATUS` in store.py says the same."""
    if payment.state is not PaymentState.PAID:
        return "pending"
    if payment.dispute in {DisputeOutcome.OPEN, DisputeOutcome.LOST}:
        return "disputed"
    if payment.has_failed_refund:
        return "refund_failed"
    if payment.refunded_amount >= payment.price.amount:
        return "refunded"
    return "partially_refunded" if payment.refunded_amount else "paid"


def describe(payment: StoredPayment) -> Payment:
    """Return what a booking tells of its payment."""
    is_paid = payment.paid_at is not None
    return Payment(
        status_of(payment),
        payment.price.amount,
        payment.price.currency,
        iso(payment.paid_at) if payment.paid_at else UNSET,
        payment.refunded_amount if is_paid else UNSET,
    )
