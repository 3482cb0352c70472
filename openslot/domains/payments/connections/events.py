"""What happened to connections to a payment provider."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.domains.payments.models import Mode
from openslot.platform.core.events import Event


class PaymentConnectionEvent(Event, frozen=True, kw_only=True):
    """Something happened to a connection to a payment provider."""

    connection_id: UUID
    user_id: UUID | None
    """The owner, or the user who is notified; None if it belongs to an organization."""
    organization_id: UUID | None
    mode: Mode
    account_name: str | None

    @property
    def tenant_id(self) -> UUID | None:
        return self.user_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "payment_connection", self.connection_id


class PaymentsConnected(PaymentConnectionEvent, frozen=True, kw_only=True):
    """An account of a payment provider was connected."""

    type: ClassVar[str] = "payment_connection.connected"


class PaymentKeyReplaced(PaymentConnectionEvent, frozen=True, kw_only=True):
    """A connected account of a payment provider has got another key."""

    type: ClassVar[str] = "payment_connection.key_replaced"


class PaymentsDisconnected(PaymentConnectionEvent, frozen=True, kw_only=True):
    """An account of a payment provider was disconnected, and its key was deleted."""

    type: ClassVar[str] = "payment_connection.disconnected"


class PaymentsUnreadable(PaymentConnectionEvent, frozen=True, kw_only=True):
    """A connected account can't be read any more; its owner, or each administrator, will be notified."""

    type: ClassVar[str] = "payment_connection.unreadable"
    reason: str
    since: datetime
    base_url: str


PAYMENT_CONNECTION_EVENTS: tuple[type[Event], ...] = (
    PaymentsConnected,
    PaymentKeyReplaced,
    PaymentsDisconnected,
    PaymentsUnreadable,
)
