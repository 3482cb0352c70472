"""The tools of a user's assistant: what it can look up, each under the scope that the user must have allowed."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.access.models import AssistantEntry
from openslot.assistants.models import AssistantScope
from openslot.availability import operations as availability
from openslot.availability.models import BySlug
from openslot.availability.schemas import ShownSlots, show_open
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingEntry, BookingRef, Status
from openslot.bookings.schemas import BookingFields, BookingFilter
from openslot.contacts import operations as contacts
from openslot.contacts import schemas
from openslot.core.shapes import Shape
from openslot.core.text import LINE
from openslot.core.times import Instant, Zone
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.schemas import ListedEventType, WantedMinutes, show_listed
from openslot.mcp.tools import Paging, RangePaging, Tool, define_tool, naming
from openslot.routing.listings import Listing


class AssistantTool(Tool, frozen=True, kw_only=True):
    scope: AssistantScope


class HostBooking(BookingFields, frozen=True, kw_only=True, rename="camel"):
    """A booking as the REST API shows it, without the link by which everyone can change it."""

    created_at: Instant
    updated_at: Instant


show_booking = Shape(HostBooking, BookingEntry).show


def looks_up(scope: AssistantScope) -> Callable[[Callable[..., Awaitable[object]]], AssistantTool]:
    """Declare a tool that changes nothing."""

    def declare(function: Callable[..., Awaitable[object]]) -> AssistantTool:
        return define_tool(
            function,
            AssistantTool,
            scope=scope,
            is_read_only=True,
            is_idempotent=True,
            is_destructive=False,
            reaches_outside=False,
        )

    return declare


@looks_up(AssistantScope.BOOKINGS_READ)
async def list_bookings(
    work: Work, *, call: AssistantEntry, arguments: RangePaging, status: BookingFilter = BookingFilter.ALL
) -> Listing[HostBooking]:
    """List the user's bookings, latest start first.

    Use it to see what is booked in a time range, or to find a booking whose id you do not know. Without a time range,
    past and future bookings are listed.
    """
    page, limit = arguments.page, arguments.limit
    wanted = None if status is BookingFilter.ALL else Status(status)
    found, total = await bookings.list_bookings(
        work, call.user, status=wanted, span=arguments.span, page=page, limit=limit
    )
    return arguments.show([show_booking(each) for each in found], total)


@looks_up(AssistantScope.BOOKINGS_READ)
async def get_booking(
    work: Work, *, call: AssistantEntry, booking_id: Annotated[UUID, Meta(description="The booking's id")]
) -> HostBooking:
    """Get one of the user's bookings with its event type, its invitee and the answers to questions."""
    with naming("bookingId"):
        entry, _ = await bookings.get_with_emails(work, BookingRef(booking_id, call.user.id))
    return show_booking(entry)


@looks_up(AssistantScope.EVENT_TYPES_READ)
async def list_event_types(work: Work, *, call: AssistantEntry, arguments: Paging) -> Listing[ListedEventType]:
    """List what can be booked with the user, in the order of the booking page."""
    found, total = await event_types.list_event_types(
        work, call.user, only_active=True, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([show_listed(each) for each in found], total)


@looks_up(AssistantScope.BOOKINGS_READ)
async def get_availability(
    work: Work,
    *,
    call: AssistantEntry,
    event_type: Annotated[str, Meta(pattern=LINE, max_length=200, description="The event type's slug")],
    timezone: Annotated[Zone, Meta(description="Time zone of the returned dates and times, as an IANA name")],
    start_date: Annotated[date | None, Meta(description="First day, in that time zone; today if omitted")] = None,
    end_date: Annotated[
        date | None, Meta(description="Last day, inclusive, at most 62 days in total; a week later if omitted")
    ] = None,
    duration_minutes: Annotated[
        WantedMinutes, Meta(description="One of the event type's durations, in minutes; the default if omitted")
    ] = None,
) -> ShownSlots:
    """List when one of the user's event types can be booked, on some days in a time zone.

    Get the slug from list_event_types. Without dates, a week from today is listed.
    """
    which = BySlug(call.user.id, event_type, duration_minutes)
    with naming("eventType"):
        found, slots, zone = await availability.list_open(
            work, which, timezone=timezone, first=start_date, last=end_date
        )
    return show_open(found, slots, zone)


@looks_up(AssistantScope.CONTACTS_READ)
async def list_contacts(
    work: Work,
    *,
    call: AssistantEntry,
    arguments: Paging,
    search: Annotated[
        str, Meta(pattern=LINE, max_length=254, description="Part of the name, email address or company")
    ] = "",
) -> Listing[schemas.ListedContact]:
    """List the user's contacts, newest first: those who have booked, and those who were added."""
    found, total = await contacts.list_contacts(
        work, call.user, search=search, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([schemas.show_listed(each) for each in found], total)


TOOLS = (list_bookings, get_booking, list_event_types, get_availability, list_contacts)
