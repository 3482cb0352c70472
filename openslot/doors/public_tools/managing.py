"""The public tools for a booking that was made: its manage link reads, reschedules and cancels it."""

from typing import Annotated

from msgspec import Meta

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings import public_api
from openslot.domains.bookings.errors import (
    BookingAlreadyCancelled,
    BookingAlreadyEnded,
    BookingNotConfirmed,
    BookingNotFound,
    RescheduleByHostOnly,
)
from openslot.domains.bookings.links import PAGE, read_manage_token
from openslot.domains.bookings.models import BookingDetails, BookingRef, Status
from openslot.domains.bookings.rules import is_over, name_wanted_time
from openslot.domains.bookings.schemas import CancelBody, RescheduleBody
from openslot.domains.payments.public_api import cancel_managed_booking, get_managed_booking, get_waiting
from openslot.doors.mcp.tools import naming
from openslot.doors.public_tools.booking import FirstDay, LastDay, Start, list_times, tool
from openslot.doors.public_tools.picker import PICKER_URI
from openslot.doors.public_tools.schemas import QuotedBooking, ShownTimes, show_booking
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.text import LINE, ReasonText
from openslot.platform.core.times import Zone
from openslot.platform.core.work import Work

ManageUrl = Annotated[
    str,
    Meta(
        pattern=LINE,
        min_length=1,
        max_length=500,
        description="`manageUrl` of the booking, a secret of the person who booked",
        examples=["https://book.example/manage/AZl8Lm…"],
    ),
]
GivenReason = Annotated[ReasonText | None, Meta(description="Included in the email to the host and the invitee")]


@tool(is_read_only=True)
async def get_booking(work: Work, *, manage_url: ManageUrl) -> QuotedBooking:
    """Read a booking by its manage link: when and where it is, and whether it can still be changed."""
    with naming("manageUrl"):
        return await _get_booking(work, _read_token(manage_url))


async def _get_booking(work: Work, token: str) -> QuotedBooking:
    return show_booking(await get_managed_booking(work, token))


def _read_token(url: str) -> str:
    """Read the token of a manage link, or take a text for the token itself."""
    return url.strip().partition("?")[0].rpartition(PAGE)[2].partition("/")[0]


@tool(is_read_only=True, page=PICKER_URI)
async def list_new_times(
    work: Work,
    *,
    manage_url: ManageUrl,
    timezone: Annotated[Zone | None, Meta(description="The invitee's own if omitted")] = None,
    start_date: FirstDay = None,
    end_date: LastDay = None,
) -> ShownTimes:
    """List the times to which a booking can be rescheduled, by its manage link."""
    ref = BookingRef(read_manage_token(work.runtime, _read_token(manage_url)), None)
    with naming("manageUrl"):
        details = await _get_movable(work, ref)
    booking = details.booking
    return await list_times(
        work,
        name_wanted_time(booking, details.event_type),
        timezone or booking.invitee_zone,
        (start_date, end_date),
        without=booking.seat_id or booking.claim_id,
    )


async def _get_movable(work: Work, ref: BookingRef) -> BookingDetails:
    """Get a booking that its invitee can reschedule, or refuse as rescheduling it would."""
    try:
        details = await bookings.get_booking(work, ref)
    except BookingNotFound:
        await get_waiting(work, ref.id)
        raise BookingNotConfirmed from None
    if details.booking.status is Status.CANCELLED:
        raise BookingAlreadyCancelled
    if is_over(details.booking, now=work.now):
        raise BookingAlreadyEnded
    if details.event_type.requires_confirmation:
        raise RescheduleByHostOnly
    return details


@tool(is_destructive=True, reaches_outside=True, limit=public_api.booking_limit)
async def reschedule_booking(
    work: Work, *, manage_url: ManageUrl, new_start_time: Start, reason: GivenReason = None
) -> QuotedBooking:
    """Move a booking to another free time, from list_new_times. Do it only if the person wants it.

    The host and the invitee are told by email. The booking keeps its manage link.
    """
    token, body = _read_token(manage_url), RescheduleBody(new_start_time=new_start_time, reason=reason)
    with naming("manageUrl"):
        await work.runtime.run(PUBLIC, lambda inner: public_api.reschedule_managed_booking(inner, token, body))
        return await _get_booking(work, token)


@tool(is_destructive=True, reaches_outside=True, limit=public_api.booking_limit)
async def cancel_booking(work: Work, *, manage_url: ManageUrl, reason: GivenReason = None) -> QuotedBooking:
    """Cancel a booking, or withdraw one that waits for its host or its payment. Do it only if the person wants it.

    The time is free again, and it can't be undone. The host and the invitee are told by email. To cancel it again
    changes nothing.
    """
    token = _read_token(manage_url)
    with naming("manageUrl"):
        await cancel_managed_booking(work.acting_as(PUBLIC), token, CancelBody(reason=reason))
        return await _get_booking(work, token)
