"""Payments in words: what they cost, what became of the money, and what a person must do."""

from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import Money
from openslot.domains.payments import rules
from openslot.domains.payments.models import Problem, RefundReason, RefundState, StoredPayment
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.money import Amount

HOURS_OF_DAY = 24

STATUSES = {
    "pending": (Text("Waiting for payment"), "warn"),
    "paid": (Text("Paid"), "good"),
    "partially_refunded": (Text("Partly refunded"), ""),
    "refunded": (Text("Refunded"), ""),
    "refund_failed": (Text("Refund failed"), "bad"),
    "disputed": (Text("Disputed"), "bad"),
    "not_required": (Text("No payment needed"), ""),
}
"""The words and the tone of each status."""

REFUND_STATES = {
    RefundState.WANTED: (Text("Being sent"), "warn"),
    RefundState.PENDING: (Text("On its way"), "warn"),
    RefundState.SUCCEEDED: (Text("Refunded"), "good"),
    RefundState.FAILED: (Text("Failed"), "bad"),
    RefundState.CANCELLED: (Text("Cancelled"), "bad"),
}
REFUND_REASONS = {
    RefundReason.CANCELLED: Text("The booking was cancelled"),
    RefundReason.LATE: Text("The money came when the time was gone"),
    RefundReason.HOST: Text("Refunded by the host"),
    RefundReason.OUTSIDE: Text("Refunded in Stripe"),
}
PROBLEMS = {
    Problem.AMOUNT_DIFFERS: (
        Text("The amount that was paid is not the price"),
        Text("The booking is not confirmed. Look at the payment in Stripe: refund it there, or contact the invitee."),
    ),
    Problem.PAID_LATE: (
        Text("A payment came too late"),
        Text("The time was gone, so the booking is not confirmed and the money is refunded."),
    ),
    Problem.REFUND_FAILED: (
        Text("A refund failed"),
        Text("The money is still with you. Try again, or pay it back in another way."),
    ),
    Problem.DISPUTED: (
        Text("A payment is disputed"),
        Text("The payer's bank asks for the money back. Answer in Stripe before the deadline."),
    ),
    Problem.DISPUTE_LOST: (
        Text("A dispute was lost"),
        Text("The payer's bank has taken the money back. The booking stays as it is until you cancel it."),
    ),
    Problem.CHECKOUT_REFUSED: (
        Text("Stripe refuses a price"),
        Text("Somebody wanted to book and could not pay. Change the price or the currency of the event type."),
    ),
    Problem.PROVIDER_LOST: (
        Text("A payment could not be checked"),
        Text("Stripe could not be reached for a day, so the time was released. Check in Stripe whether it was paid."),
    ),
}
"""Why a person must look at a payment, and what to do."""


def show_amount(price: Money, amount: int | None = None) -> Amount:
    """Show a price, or another amount of its currency."""
    return Amount(price.amount if amount is None else amount, price.currency)


def describe_policy(policy: str) -> Text:
    """Say what invitees who cancel get back."""
    kind, _, hours = policy.partition(":")
    if kind == "until":
        return _until(int(hours))
    return Text("No refund if you cancel") if kind == "none" else Text("Full refund if you cancel")


def _until(hours: int) -> Text:
    if hours % HOURS_OF_DAY or hours == HOURS_OF_DAY:
        return PluralText(
            "Full refund until %(count)s hour before the start",
            "Full refund until %(count)s hours before the start",
            count=hours,
        )
    return PluralText(
        "Full refund until %(count)s day before the start",
        "Full refund until %(count)s days before the start",
        count=hours // HOURS_OF_DAY,
    )


def describe_money(payment: StoredPayment) -> Text:
    """Say what was paid, and what of it has gone back or is on its way."""
    paid = show_amount(payment.price)
    if payment.refunded_amount:
        return Text("%(amount)s paid, %(refund)s refunded", amount=paid, refund=show_refunded(payment))
    return Text("%(amount)s paid", amount=paid)


def show_refunded(payment: StoredPayment) -> Amount:
    return show_amount(payment.price, payment.refunded_amount)


def describe_cancellation(payment: StoredPayment, booking: Booking) -> Text:
    """Say what becomes of the money of a booking that is cancelled, or would be."""
    left = show_amount(payment.price, payment.price.amount - payment.refunded_amount)
    if not left.amount:
        return Text("%(amount)s was refunded.", amount=show_refunded(payment))
    if rules.is_refunded_when_cancelled(payment, booking):
        return Text("%(amount)s will be refunded to the card or account it was paid with.", amount=left)
    if rules.is_refund_over(payment, booking):
        return Text(
            "%(amount)s will not be refunded: the booking was rescheduled when it was too late for a refund.",
            amount=left,
        )
    policy = describe_policy(payment.refund_policy)
    return Text("%(amount)s will not be refunded. The refund policy is: %(policy)s.", amount=left, policy=policy)
