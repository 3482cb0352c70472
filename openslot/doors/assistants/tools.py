"""The tools with which a user's assistant looks something up, and how all its tools are declared."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Raw

from openslot.domains.access.models import AssistantEntry
from openslot.domains.availability.models import BySlug
from openslot.domains.availability.operations import explain_start_time, list_open_slots
from openslot.domains.availability.schemas import write_slots
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, Status
from openslot.domains.bookings.schemas import BookingFilter, IsoMoment
from openslot.domains.contacts import operations as contacts
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.schemas import WantedMinutes
from openslot.doors.assistants.schemas import (
    ExplainedTime,
    HostBooking,
    HostContact,
    HostEventType,
    ShownTimes,
    WrittenOpenTimes,
    embed_event_type,
    show_booking,
    show_contact,
    show_event_type,
    show_explained,
)
from openslot.doors.mcp.tools import Paging, RangePaging, Tool, define_tool, naming
from openslot.doors.oauth.models import AssistantScope
from openslot.platform.core.text import LINE
from openslot.platform.core.times import Zone
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import Listing

EventTypeSlug = Annotated[
    str, Meta(pattern=LINE, max_length=200, description="The event type's slug, from list_event_types")
]
BookingId = Annotated[UUID, Meta(description="The booking's id")]
Minutes = Annotated[
    WantedMinutes, Meta(description="One of the event type's durations, in minutes; the default if omitted")
]


class AssistantTool(Tool, frozen=True, kw_only=True):
    scope: AssistantScope | None
    """None if it tells only what the same assistant has asked for."""


def looks_up(scope: AssistantScope | None) -> Callable[[Callable[..., Awaitable[object]]], AssistantTool]:
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
    return arguments.show([show_booking(each, scopes=call.scopes) for each in found], total)


@looks_up(AssistantScope.BOOKINGS_READ)
async def get_booking(work: Work, *, call: AssistantEntry, booking_id: BookingId) -> HostBooking:
    """Get one of the user's bookings with its event type, its invitee and the answers to questions."""
    with naming("bookingId"):
        entry, _ = await bookings.get_booking_with_emails(work, BookingRef(booking_id, call.user.id))
    return show_booking(entry, scopes=call.scopes)


@looks_up(AssistantScope.EVENT_TYPES_READ)
async def list_event_types(work: Work, *, call: AssistantEntry, arguments: Paging) -> Listing[HostEventType]:
    """List what can be booked with the user, in the order of the booking page."""
    found, total = await event_types.list_event_types(
        work, call.user, only_active=True, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([show_event_type(each) for each in found], total)


@looks_up(AssistantScope.BOOKINGS_READ)
async def get_availability(
    work: Work,
    *,
    call: AssistantEntry,
    event_type: EventTypeSlug,
    timezone: Annotated[Zone, Meta(description="Time zone of the returned dates and times, as an IANA name")],
    start_date: Annotated[date | None, Meta(description="First day, in that time zone; today if omitted")] = None,
    end_date: Annotated[
        date | None, Meta(description="Last day, inclusive, at most 62 days in total; a week later if omitted")
    ] = None,
    duration_minutes: Minutes = None,
) -> ShownTimes:
    """List when one of the user's event types can be booked, on some days in a time zone.

    Get the slug from list_event_types. Without dates, a week from today is listed.
    """
    which = BySlug(call.user.id, event_type, duration_minutes)
    with naming("eventType"):
        found, slots, zone = await list_open_slots(work, which, timezone=timezone, first=start_date, last=end_date)
    return WrittenOpenTimes(
        data=Raw(write_slots(slots, viewer=zone)),
        event_type=embed_event_type(found.inputs.event_type),
        timezone=str(zone),
    )


@looks_up(AssistantScope.BOOKINGS_READ)
async def explain_time(
    work: Work,
    *,
    call: AssistantEntry,
    event_type: EventTypeSlug,
    start_time: IsoMoment,
    duration_minutes: Minutes = None,
) -> ExplainedTime:
    """Explain why a time of one of the user's event types can be booked or not, and what would open it."""
    with naming("eventType"):
        explained = await explain_start_time(work, BySlug(call.user.id, event_type, duration_minutes), start_time)
    return show_explained(explained)


@looks_up(AssistantScope.CONTACTS_READ)
async def list_contacts(
    work: Work,
    *,
    call: AssistantEntry,
    arguments: Paging,
    search: Annotated[
        str, Meta(pattern=LINE, max_length=254, description="Part of the name, email address or company")
    ] = "",
) -> Listing[HostContact]:
    """List the user's contacts, newest first: those who have booked, and those who were added."""
    found, total = await contacts.list_contacts(
        work, call.user, search=search, page=arguments.page, limit=arguments.limit
    )
    return arguments.show([show_contact(each) for each in found], total)
