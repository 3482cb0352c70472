"""What happened to bookings, each fact whole: booking, event type and contact as they were."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from msgspec.structs import asdict

from openslot.domains.bookings.hosts.schemas import show_hosts
from openslot.domains.bookings.links import begin_manage_url
from openslot.domains.bookings.models import Booking
from openslot.domains.bookings.schemas import (
    Previous,
    ReassignedBooking,
    RescheduledBooking,
    ShownBooking,
    show_booking,
)
from openslot.domains.bookings.series.models import SeriesDate
from openslot.domains.contacts.models import Contact
from openslot.domains.event_types.models import EventType
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.events import Event
from openslot.platform.core.times import iso


class BookingEvent(Event, frozen=True, kw_only=True):
    """Something happened to a booking."""

    booking: Booking
    event_type: EventType
    contact: Contact | None
    base_url: str
    """Where the service was reached then: links begin with it."""
    series: tuple[SeriesDate, ...] = ()
    """All bookings of a series to which this happened at once, if this one stands for them."""
    told_by: UUID | None = None
    """The booking of its series that stands for it: people are told of both by one mail."""
    hosts: tuple[BookingHost, ...] = ()
    """The hosts of a team's event type at that moment, the organizer first; empty if its owner hosts it alone."""

    @property
    def tenant_id(self) -> UUID | None:
        return self.booking.host_id

    @property
    def subject(self) -> tuple[str, UUID | None]:
        return "booking", self.booking.id

    def public(self) -> object | None:
        """Show the booking as the REST door would have shown it then, its link without the token."""
        return self._show()

    def _show(self) -> ShownBooking:
        url = begin_manage_url(self.base_url)
        return show_booking(self.booking, self.event_type, self.contact, manage_url=url, hosts=self.hosts)


class BookingCreated(BookingEvent, frozen=True, kw_only=True):
    """A booking was created and confirmed."""

    type: ClassVar[str] = "booking.created"
    skipped: tuple[datetime, ...] = ()
    """The weeks of its series that were not free."""
    is_reserved: bool = False
    """Whether its invitee is mailed whatever others cause: it was paid, or its invitee's network has mailed few."""


class BookingRequested(BookingEvent, frozen=True, kw_only=True):
    """An invitee has asked for a time, which the host confirms or declines."""

    type: ClassVar[str] = "booking.requested"
    lapses_at: datetime

    def public(self) -> None:
        return None


class BookingRequestReassigned(BookingRequested, frozen=True, kw_only=True):
    """A request for a time of a team was handed over to another host."""

    type: ClassVar[str] = "booking.request_reassigned"
    previous_hosts: tuple[BookingHost, ...]
    reason: str | None = None


class BookingDeclined(BookingEvent, frozen=True, kw_only=True):
    """A request for a time was declined."""

    type: ClassVar[str] = "booking.declined"
    reason: str | None = None

    def public(self) -> None:
        return None


class BookingLapsed(BookingEvent, frozen=True, kw_only=True):
    """Nobody has answered a request for a time."""

    type: ClassVar[str] = "booking.lapsed"

    def public(self) -> None:
        return None


class BookingWithdrawn(BookingEvent, frozen=True, kw_only=True):
    """An invitee has withdrawn a request for a time."""

    type: ClassVar[str] = "booking.withdrawn"

    def public(self) -> None:
        return None


class BookingCancelled(BookingEvent, frozen=True, kw_only=True):
    """A booking was cancelled."""

    type: ClassVar[str] = "booking.cancelled"


class BookingRescheduled(BookingEvent, frozen=True, kw_only=True):
    """A booking was rescheduled to a new time."""

    type: ClassVar[str] = "booking.rescheduled"
    previous_starts_at: datetime
    previous_ends_at: datetime
    reason: str | None = None
    previous_hosts: tuple[BookingHost, ...] = ()
    """The hosts before, if others were chosen for the new time; empty if they are the same."""

    def public(self) -> object | None:
        """Show the booking as it is now, and when it was before."""
        previous = Previous(start_time=iso(self.previous_starts_at), end_time=iso(self.previous_ends_at))
        return RescheduledBooking(**asdict(self._show()), previous=previous)


class BookingReassigned(BookingEvent, frozen=True, kw_only=True):
    """A booking of a team was handed over to another host."""

    type: ClassVar[str] = "booking.reassigned"
    previous_hosts: tuple[BookingHost, ...]
    reason: str | None = None

    def public(self) -> object | None:
        """Show the booking with its hosts as they are now, and who they were before."""
        return ReassignedBooking(**asdict(self._show()), previous_hosts=show_hosts(self.previous_hosts))


class BookingNoShowMarked(BookingEvent, frozen=True, kw_only=True):
    """The host has marked that the invitee did not come."""

    type: ClassVar[str] = "booking.no_show_marked"

    def public(self) -> None:
        return None


class BookingNoShowRemoved(BookingEvent, frozen=True, kw_only=True):
    """The host has taken the mark back that the invitee did not come."""

    type: ClassVar[str] = "booking.no_show_removed"

    def public(self) -> None:
        return None


class BookingLinkAdded(BookingEvent, frozen=True, kw_only=True):
    """The link of a booking's video call, which was not ready when it was booked, is there."""

    type: ClassVar[str] = "booking.link_added"

    def public(self) -> None:
        return None


class BookingLinkFailed(BookingEvent, frozen=True, kw_only=True):
    """No link could be made for a booking's video call."""

    type: ClassVar[str] = "booking.link_failed"
    reason: str

    def public(self) -> None:
        return None


class BookingInvitationFailed(BookingEvent, frozen=True, kw_only=True):
    """The host's calendar could not invite those who take part; an invitation will be sent by email instead."""

    type: ClassVar[str] = "booking.invitation_failed"

    def public(self) -> None:
        return None


BOOKING_EVENTS: tuple[type[Event], ...] = (
    BookingCreated,
    BookingRequested,
    BookingRequestReassigned,
    BookingDeclined,
    BookingLapsed,
    BookingWithdrawn,
    BookingCancelled,
    BookingRescheduled,
    BookingReassigned,
    BookingNoShowMarked,
    BookingNoShowRemoved,
    BookingLinkAdded,
    BookingLinkFailed,
    BookingInvitationFailed,
)
