"""REST: bookings of the user whose key is used."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations, schemas
from openslot.domains.bookings.hosts.schemas import show_hosts
from openslot.domains.bookings.links import list_manage_urls, manage_url
from openslot.domains.bookings.models import BookingRef, Status
from openslot.domains.bookings.series.operations import cancel_series, create_series
from openslot.domains.bookings.series.schemas import read_recurrence, show_series
from openslot.platform.core.moments import read_span
from openslot.platform.core.work import Work
from openslot.platform.routing import Query, Success, get, patch, post
from openslot.platform.routing.listings import From, Limit, Listing, PageNumber, To, check_span, paginate

StatusFilter = Annotated[
    schemas.BookingFilter, Meta(description="CONFIRMED, CANCELLED or all, case-insensitive"), Query()
]


@get(check=check_span)
async def list_bookings(
    work: Work,
    user: User,
    *,
    page: PageNumber = 1,
    limit: Limit = 20,
    status: StatusFilter = schemas.BookingFilter.ALL,
    from_: From = None,
    to: To = None,
) -> Listing[schemas.ShownBooking]:
    """List your bookings, latest start time first."""
    wanted = None if status is schemas.BookingFilter.ALL else Status(status)
    span = read_span(from_, to)
    found, total = await operations.list_bookings(work, user, status=wanted, span=span, page=page, limit=limit)
    urls = list_manage_urls(work.runtime, (each.id for each in found))
    shown = [
        schemas.show_entry(entry, manage_url=url, hosts=show_hosts(entry.hosts))
        for entry, url in zip(found, urls, strict=True)
    ]
    return Listing(data=shown, pagination=paginate(page, limit, total))


@get()
async def get_booking(work: Work, user: User, booking_id: UUID) -> schemas.DetailedBooking:
    """Get one of your bookings with its event type, contact and emails."""
    booking, emails = await operations.get_booking_with_emails(work, BookingRef(booking_id, user.id))
    logs = [schemas.show_email(email) for email in emails]
    url, hosts = manage_url(work.runtime, booking_id), show_hosts(booking.hosts)
    return schemas.show_detailed_entry(booking, manage_url=url, hosts=hosts, email_logs=logs)


@post()
async def create_booking(work: Work, user: User, data: schemas.BookingBody) -> schemas.CreatedBooking:
    """Book an available slot of one of your event types for an invitee, once or in several weeks in a row."""
    wanted = schemas.read_wanted(data, BySlug(user.id, data.event_type_slug, data.duration_minutes))
    if data.recurrence:
        made = await create_series(work, wanted, read_recurrence(data.recurrence))
        shown = show_series(made, list_manage_urls(work.runtime, made.booking_ids))
        return schemas.CreatedBooking(booking_id=str(made.bookings[0].id), series=shown)
    booking = await operations.create_booking(work, wanted)
    return schemas.CreatedBooking(booking_id=str(booking.id))


@post("/bookings/{booking_id}/cancel")
async def cancel_booking(
    work: Work,
    user: User,
    booking_id: UUID,
    data: schemas.CancelBody | None = None,
) -> Success:
    """Cancel one of your bookings, or its whole series. Cancelling it again changes nothing."""
    cancel = cancel_series if data and data.series else operations.cancel_booking
    await cancel(work, BookingRef(booking_id, user.id), reason=data.reason if data else None)
    return Success()


@patch("/bookings/{booking_id}/reschedule")
async def reschedule_booking(work: Work, user: User, booking_id: UUID, data: schemas.RescheduleBody) -> Success:
    """Reschedule one of your bookings to another available slot."""
    ref = BookingRef(booking_id, user.id)
    await operations.reschedule_booking(work, ref, data.new_start_time, reason=data.reason)
    return Success()
