"""What happened to payments, each fact whole: the payment, its booking and what was booked, as they were."""

from typing import ClassVar
from uuid import UUID

from openslot.domains.bookings.models import Booking
from openslot.domains.event_types.models import EventType
from openslot.domains.payments.models import Problem, StoredPayment, StoredRefund
from openslot.domains.payments.schemas import show_payment
from openslot.platform.core.events import Event


class PaymentEvent(Event, frozen=True, kw_only=True):
    """Something happened to a payment."""

    payment: StoredPayment
    booking: Booking
    event_type: EventType
    base_url: str
    """Where the service was reached then: links begin with it."""

    @property
    def tenant_id(self) -> UUID | None:
        return self.payment.host_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "booking", self.payment.booking_id


class PaymentReceived(PaymentEvent, frozen=True, kw_only=True):
    """A booking was paid for, and is confirmed by that."""

    type: ClassVar[str] = "payment.received"

    def public(self) -> object | None:
        return show_payment(self.payment)


class RefundRequested(PaymentEvent, frozen=True, kw_only=True):
    """Money is to go back to the invitee; the provider will be asked for it."""

    type: ClassVar[str] = "payment.refund_requested"
    refund: StoredRefund


class PaymentRefunded(PaymentEvent, frozen=True, kw_only=True):
    """The provider has accepted a refund, or has told of one that was made in its own pages."""

    type: ClassVar[str] = "payment.refunded"
    refund: StoredRefund


class PaymentNeedsAttention(PaymentEvent, frozen=True, kw_only=True):
    """Money and booking need a person; the host will be notified."""

    type: ClassVar[str] = "payment.needs_attention"
    problem: Problem


PAYMENT_EVENTS: tuple[type[Event], ...] = (PaymentReceived, RefundRequested, PaymentRefunded, PaymentNeedsAttention)
