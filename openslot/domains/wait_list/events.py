"""What happened on the wait list; whose entry it is stays in its row, which goes when it is no longer needed."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from openslot.domains.wait_list.models import OfferState
from openslot.platform.core.events import Event


class WaitListEvent(Event, frozen=True, kw_only=True):
    """Something happened to an entry of the wait list."""

    entry_id: UUID
    event_type_id: UUID
    host_id: UUID

    @property
    def tenant_id(self) -> UUID | None:
        return self.host_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "wait_list_entry", self.entry_id


class WaitListJoined(WaitListEvent, frozen=True, kw_only=True):
    """Somebody wants to join the wait list, and is asked to confirm their address."""

    type: ClassVar[str] = "wait_list.joined"
    is_reserved: bool = False
    """Whether the email that asks them is sent whatever others set off."""


class WaitListConfirmed(WaitListEvent, frozen=True, kw_only=True):
    """Somebody has confirmed their address and waits for a time."""

    type: ClassVar[str] = "wait_list.confirmed"


class WaitListOffered(WaitListEvent, frozen=True, kw_only=True):
    """A free time was offered to somebody on the wait list."""

    type: ClassVar[str] = "wait_list.offered"
    offer_id: UUID
    starts_at: datetime
    ends_at: datetime
    expires_at: datetime


class WaitListOfferEnded(WaitListEvent, frozen=True, kw_only=True):
    """An offered time was declined, not answered in time, or withdrawn."""

    type: ClassVar[str] = "wait_list.offer_ended"
    offer_id: UUID
    starts_at: datetime
    ends_at: datetime
    state: OfferState


class WaitListAccepted(WaitListEvent, frozen=True, kw_only=True):
    """Somebody on the wait list has booked the time that they were offered."""

    type: ClassVar[str] = "wait_list.accepted"
    offer_id: UUID


class WaitListLeft(WaitListEvent, frozen=True, kw_only=True):
    """Somebody was removed from the wait list, by themselves or by the host."""

    type: ClassVar[str] = "wait_list.left"


WAIT_LIST_EVENTS: tuple[type[Event], ...] = (
    WaitListJoined,
    WaitListConfirmed,
    WaitListOffered,
    WaitListOfferEnded,
    WaitListAccepted,
    WaitListLeft,
)
