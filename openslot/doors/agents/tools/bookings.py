"""Tools: bookings."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.hosts.schemas import show_hosts
from openslot.domains.bookings.models import BookingEntry, BookingRef, Status
from openslot.domains.bookings.schemas import BookingFields, BookingFilter, EmailLog, IsoMoment, show_email
from openslot.doors.agents.models import Tier
from openslot.doors.agents.registry import USER, UserId, about, get_named_user, tool
from openslot.doors.agents.schemas import Decided
from openslot.doors.mcp.tools import RangePaging, naming
from openslot.platform.core.shapes import Shape
from openslot.platform.core.text import ReasonText
from openslot.platform.core.times import Instant
from openslot.platform.core.work import Work
from openslot.platform.routing.listings import Listing

BookingId = Annotated[UUID, Meta(description="The booking's id")]
SentReason = Annotated[ReasonText | None, Meta(description="Included in the notification to the host and the invitee")]
BOOKING = about("booking", "booking_id")


class PlatformBooking(BookingFields, frozen=True, kw_only=True, rename="camel"):
    """A booking as the REST API shows it, with its host, and without the link by which everyone can change it."""

    user_id: Annotated[str, Meta(description="The host")]
    created_at: Instant
    updated_at: Instant


class DetailedPlatformBooking(PlatformBooking, frozen=True, kw_only=True, rename="camel"):
    """A booking with the emails about it."""

    email_logs: list[EmailLog]


class CancelledBooking(Decided, frozen=True, kw_only=True, rename="camel"):
    """The cancelled booking."""

    booking: PlatformBooking | None = None


_BOOKING = Shape(PlatformBooking, BookingEntry, names={"user_id": "host_id"}, given=("hosts",))
_DETAILED = Shape(DetailedPlatformBooking, BookingEntry, names={"user_id": "host_id"}, given=("hosts", "email_logs"))


def show_platform_booking(entry: BookingEntry) -> PlatformBooking:
    return _BOOKING.show(entry, hosts=show_hosts(entry.hosts))


@tool(scope="bookings:read", target=USER)
async def list_bookings(
    work: Work, *, arguments: RangePaging, user_id: UserId | None = None, status: BookingFilter = BookingFilter.ALL
) -> Listing[PlatformBooking]:
    """List bookings of all users, or of one host, latest start first.

    Use it to see what is booked in a time range, or to find a booking whose id you do not know. Without a time range,
    past and future bookings are listed. It costs nothing and changes nothing.
    """
    page, limit, span = arguments.page, arguments.limit, arguments.span
    wanted = None if status is BookingFilter.ALL else Status(status)
    if user_id is None:
        found, total = await bookings.list_all_bookings(work, status=wanted, span=span, page=page, limit=limit)
    else:
        host = await get_named_user(work, user_id)
        found, total = await bookings.list_bookings(work, host, status=wanted, span=span, page=page, limit=limit)
    return arguments.show([show_platform_booking(each) for each in found], total)


@tool(scope="bookings:read", target=BOOKING)
async def get_booking(work: Work, *, booking_id: BookingId) -> DetailedPlatformBooking:
    """Get one booking with its event type, contact and the emails that were sent about it.

    Use it before you cancel or reschedule, or to see whether a confirmation was delivered. It costs nothing and changes
    nothing.
    """
    with naming("bookingId"):
        entry, emails = await bookings.get_booking_with_emails(work, BookingRef(booking_id, None))
    logs = [show_email(email) for email in emails]
    return _DETAILED.show(entry, hosts=show_hosts(entry.hosts), email_logs=logs)


@tool(scope="bookings:write", tier=Tier.T3, target=BOOKING, is_destructive=True, reaches_outside=True)
async def cancel_booking(work: Work, *, booking_id: BookingId, reason: SentReason = None) -> CancelledBooking:
    """Cancel a booking for its host: the time is free again, and it can't be undone.

    Host, invitee and guests are notified by email, and calendars and webhooks are updated. A booking that is already
    cancelled stays as it is; one that is over is refused. It needs confirm: true and an approval by the Orchestrator.
    It costs nothing.
    """
    ref = BookingRef(booking_id, None)
    with naming("bookingId"):
        await bookings.cancel_booking(work, ref, reason=reason)
    entry, _ = await bookings.get_booking_with_emails(work, ref)
    return CancelledBooking(booking=show_platform_booking(entry))


@tool(scope="bookings:write", tier=Tier.T2, target=BOOKING, reaches_outside=True)
async def reschedule_booking(
    work: Work, *, booking_id: BookingId, reason: SentReason = None, new_start_time: IsoMoment
) -> PlatformBooking:
    """Reschedule a booking to another available start; it keeps its id, its duration and its calendar entry.

    Get the starts from check_availability first; any other start is refused. Host, invitee and guests are notified by
    email, and calendars and webhooks are updated. The same start again changes nothing. It needs confirm: true and
    costs nothing.
    """
    ref = BookingRef(booking_id, None)
    with naming("bookingId"):
        await bookings.reschedule_booking(work, ref, new_start_time, reason=reason)
    entry, _ = await bookings.get_booking_with_emails(work, ref)
    return show_platform_booking(entry)
