"""REST: bookings of the user whose key is used."""

from typing import Annotated

from litestar import get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec.structs import asdict

from openslot.accounts.models import User
from openslot.availability.store import OfOwner
from openslot.bookings import operations
from openslot.bookings.models import BookingWanted, Invitee, Ref, Status
from openslot.bookings.schemas import (
    BookingBody,
    BookingFilter,
    CancelBody,
    DetailedBooking,
    Made,
    RescheduleBody,
    ShownBooking,
)
from openslot.core.ids import parse_id
from openslot.core.moments import MOMENTS, From, To, read_span
from openslot.core.paging import Limit, Listing, Page, paginate
from openslot.core.responses import ERRORS, WRITE_ERRORS, Success
from openslot.core.work import Work

StatusFilter = Annotated[BookingFilter, QueryParameter(description="CONFIRMED, CANCELLED or all, in any letter case")]


@get(
    "/bookings",
    tags=["Bookings"],
    summary="List bookings",
    operation_id="listBookings",
    type_decoders=[MOMENTS],
    responses=ERRORS,
)
async def list_bookings(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    *,
    page: Page = 1,
    limit: Limit = 20,
    status: StatusFilter = BookingFilter.ALL,
    from_: From = None,
    to: To = None,
) -> Listing[ShownBooking]:
    """List your bookings, newest start first."""
    wanted = None if status is BookingFilter.ALL else Status(status)
    span = read_span(from_, to)
    found, total = await operations.list_bookings(work, user, status=wanted, span=span, page=page, limit=limit)
    return Listing(data=found, pagination=paginate(page, limit, total))


@get(
    "/bookings/{booking_id:str}",
    tags=["Bookings"],
    summary="Read a booking",
    operation_id="getBooking",
    responses=ERRORS,
)
async def get_booking(
    work: NamedDependency[Work], user: NamedDependency[User], booking_id: FromPath[str]
) -> DetailedBooking:
    """Read one of your bookings with its event type, contact and mails."""
    shown = await operations.get_shown(work, Ref(parse_id(booking_id), user.id))
    return DetailedBooking(**asdict(shown), email_logs=[])


@post(
    "/bookings",
    tags=["Bookings"],
    summary="Book a slot",
    operation_id="createBooking",
    status_code=200,
    responses=WRITE_ERRORS,
)
async def create_booking(work: NamedDependency[Work], user: NamedDependency[User], data: JSONBody[BookingBody]) -> Made:
    """Book an open slot of one of your event types for an invitee."""
    wanted = BookingWanted(
        which=OfOwner(user.id, data.event_type_slug),
        starts_at=data.start_time,
        invitee=Invitee(name=data.invitee_name, email=data.invitee_email, zone=data.invitee_timezone),
        notes=data.notes,
        answers=data.answers,
        guests=tuple(data.guests),
    )
    booking = await operations.create_booking(work, wanted)
    return Made(booking_id=str(booking.id))


@post(
    "/bookings/{booking_id:str}/cancel",
    tags=["Bookings"],
    summary="Cancel a booking",
    operation_id="cancelBooking",
    status_code=200,
    responses=WRITE_ERRORS,
)
async def cancel_booking(
    work: NamedDependency[Work],
    user: NamedDependency[User],
    booking_id: FromPath[str],
    data: JSONBody[CancelBody | None] = None,
) -> Success:
    """Cancel one of your bookings; cancelling it again changes nothing."""
    await operations.cancel_booking(work, Ref(parse_id(booking_id), user.id), reason=data.reason if data else None)
    return Success()


@patch(
    "/bookings/{booking_id:str}/reschedule",
    tags=["Bookings"],
    summary="Move a booking",
    operation_id="rescheduleBooking",
    status_code=200,
    responses=WRITE_ERRORS,
)
async def reschedule_booking(
    work: NamedDependency[Work], user: NamedDependency[User], booking_id: FromPath[str], data: JSONBody[RescheduleBody]
) -> Success:
    """Move one of your bookings to another open slot."""
    ref = Ref(parse_id(booking_id), user.id)
    await operations.reschedule_booking(work, ref, data.new_start_time, reason=data.reason)
    return Success()
