"""A meeting as a calendar file, for those who have its manage link."""

from openslot.bookings import operations as bookings
from openslot.bookings.errors import BookingNotFound
from openslot.bookings.links import booking_url, calendar_url, manage_url
from openslot.bookings.models import BookingDetails, BookingRef, Status
from openslot.core.work import Work
from openslot.i18n.localization import localize
from openslot.integrations.mail import operations
from openslot.integrations.mail.calendar_entry import CalendarEntry, write_calendar
from openslot.integrations.mail.letters import say_description, say_title
from openslot.integrations.mail.meetings import MailedMeeting, list_recipients, write_entry
from openslot.integrations.mail.models import Method
from openslot.integrations.mail.rendering import say


async def write_calendar_file(work: Work, ref: BookingRef) -> bytes:
    """Write a booking as its invitee's calendar keeps it."""
    details = await bookings.get_booking(work, ref)
    _, entry = await describe_meeting(work, details)
    return write_calendar(entry, Method.CANCEL if details.booking.status is Status.CANCELLED else None)


async def describe_meeting(work: Work, details: BookingDetails) -> tuple[MailedMeeting, CalendarEntry]:
    """Read what belongs to a booking, and describe it as its invitee's calendar does."""
    booking = details.booking
    host = await operations.find_host(work, booking.host_id, colour=details.event_type.colour)
    if host is None:
        raise BookingNotFound
    meeting = MailedMeeting(
        booking=booking,
        event_type=details.event_type,
        host=host,
        manage_url=manage_url(work.runtime, booking.id),
        calendar_url=calendar_url(work.runtime, booking.id),
        booking_url=booking_url(work.runtime, booking.id),
    )
    invitee = list_recipients(booking, host)[0]
    locale = operations.choose_locale(invitee.locale, host.locale)
    entry = write_entry(
        meeting,
        invitee,
        summary=say(say_title(meeting, invitee), locale),
        description=str(localize(say_description(meeting, invitee), locale)),
        changed_at=booking.updated_at,
    )
    return meeting, entry
