"""What happened to leavers."""

from typing import ClassVar
from uuid import UUID

from openslot.platform.core.events import Event


class DepartureHeld(Event, frozen=True, kw_only=True):
    """Too many members left within an hour; this one's bookings wait for an administrator, who will be notified."""

    type: ClassVar[str] = "departure.held"
    organization_id: UUID
    organization_name: str
    user_id: UUID
    email: str
    departed: int
    """How many left within the hour, this one included."""
    members: int
    """How many there were before."""

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.user_id


class DepartureDecided(Event, frozen=True, kw_only=True):
    """An administrator has approved or rejected a departure that was held."""

    type: ClassVar[str] = "departure.decided"
    organization_id: UUID
    user_id: UUID
    approved: bool

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "user", self.user_id


PEOPLE_EVENTS: tuple[type[Event], ...] = (DepartureHeld, DepartureDecided)
