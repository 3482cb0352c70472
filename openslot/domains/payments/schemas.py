"""The wire shapes of payments."""

from typing import Annotated

from msgspec import Meta

from openslot.domains.bookings.models import Payment
from openslot.domains.bookings.series.schemas import BookingId
from openslot.domains.payments.models import StoredPayment
from openslot.domains.payments.rules import describe


class ShownPayment(Payment, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The payment of a booking, as webhooks send it."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7ed1"])]
    booking_id: BookingId


def show_payment(payment: StoredPayment) -> ShownPayment:
    told = describe(payment)
    return ShownPayment(
        told.status,
        told.amount,
        told.currency,
        told.paid_at,
        told.refunded_amount,
        id=str(payment.id),
        booking_id=str(payment.booking_id),
    )
