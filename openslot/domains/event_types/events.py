"""What happened to event types."""

from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class EventTypeAdded(Event, frozen=True, kw_only=True):
    """An event type was created, in addition to the first one that every account has."""

    type: ClassVar[str] = "event_type.added"
    event_type_id: UUID
    owner_id: UUID
    slug: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "event_type", self.event_type_id


class PaymentAccountChanged(Event, frozen=True, kw_only=True):
    """Some event types of an owner are paid to another account, or can't be paid; the owner is notified."""

    type: ClassVar[str] = "event_type.payment_account_changed"
    owner_id: UUID
    event_types: tuple[str, ...]
    """The names of the event types."""
    account: str | None
    """The name of the new account; None if the account that they name is gone."""
    base_url: str

    @property
    def tenant_id(self) -> UUID | None:
        return self.owner_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.owner_id


EVENT_TYPE_EVENTS: tuple[type[Event], ...] = (EventTypeAdded, PaymentAccountChanged)
