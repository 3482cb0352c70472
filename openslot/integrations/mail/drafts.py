"""What one person is told of one meeting, ready to be sent."""

from msgspec.structs import replace

from openslot.bookings.events import BookingCancelled, BookingCreated, BookingEvent, BookingRescheduled
from openslot.bookings.links import booking_url, calendar_url, manage_url
from openslot.bookings.models import Booking, BookingDetails
from openslot.core.actor import Actor, ActorKind
from openslot.core.events import Effect
from openslot.core.work import Runtime
from openslot.i18n.localization import localize
from openslot.integrations.mail.calendar_entry import attach
from openslot.integrations.mail.letters import say_description, say_title, write_letter
from openslot.integrations.mail.meetings import MailedMeeting, MailHost, list_recipients, write_entry
from openslot.integrations.mail.models import MailAddress, MailKind, Method, Recipient, RecipientRole
from openslot.integrations.mail.operations import Draft, choose_locale
from openslot.integrations.mail.rendering import say

KINDS: dict[str, tuple[type[BookingEvent], MailKind]] = {
    BookingCreated.type: (BookingCreated, MailKind.CONFIRMATION),
    BookingRescheduled.type: (BookingRescheduled, MailKind.RESCHEDULE),
    BookingCancelled.type: (BookingCancelled, MailKind.CANCELLATION),
}


def read_event(effect: Effect) -> BookingEvent:
    """Read what happened to a booking."""
    return effect.event(KINDS[effect.event_type][0])


def name_recipient(recipient: Recipient) -> str:
    """Name a recipient as an effect's target."""
    return f"{recipient.role}:{recipient.email}"


def find_recipient(booking: Booking, host: MailHost, target: str | None) -> Recipient | None:
    """Find a recipient: a host or invitee by role, so that a changed address is found too."""
    recipients = list_recipients(booking, host)
    role = (target or "").partition(":")[0]
    return next((each for each in recipients if name_recipient(each) == target), None) or next(
        (each for each in recipients if each.role == role and each.role is not RecipientRole.GUEST), None
    )


def read_meeting(
    runtime: Runtime, told: BookingEvent | BookingDetails, host: MailHost, *, cause: Actor
) -> MailedMeeting:
    """Read a meeting as it was when something happened to it, or as it is."""
    booking = told.booking
    meeting = MailedMeeting(
        booking=booking,
        event_type=told.event_type,
        host=host,
        manage_url=manage_url(runtime, booking.id),
        calendar_url=calendar_url(runtime, booking.id),
        booking_url=booking_url(runtime, booking.id),
        is_reason_of_host=cause.kind is not ActorKind.PUBLIC,
    )
    if isinstance(told, BookingRescheduled):
        return replace(
            meeting,
            previous_starts_at=told.previous_starts_at,
            previous_ends_at=told.previous_ends_at,
            reason=told.reason,
        )
    return replace(meeting, reason=booking.cancel_reason) if isinstance(told, BookingCancelled) else meeting


def write_draft(meeting: MailedMeeting, kind: MailKind, recipient: Recipient, effect: Effect, cause: Actor) -> Draft:
    """Write what one person is told of a meeting, with the calendar entry that goes with it."""
    locale = choose_locale(recipient.locale, meeting.host.locale)
    entry = write_entry(
        meeting,
        recipient,
        summary=say(say_title(meeting, recipient), locale),
        description=str(localize(say_description(meeting, recipient), locale)),
        changed_at=meeting.booking.updated_at,
    )
    method = Method.CANCEL if kind is MailKind.CANCELLATION else Method.REQUEST
    is_host = recipient.role is RecipientRole.HOST
    invitee = MailAddress(meeting.booking.invitee_email, meeting.booking.invitee_name)
    return Draft(
        id=effect.id,
        kind=kind,
        letter=write_letter(meeting, kind, recipient, entry, locale),
        recipient=recipient,
        brand=meeting.host.brand,
        locale=locale,
        host_id=meeting.booking.host_id,
        booking_id=meeting.booking.id,
        reply_to=invitee if is_host else MailAddress(meeting.host.email, meeting.host.name),
        # A reminder changes nothing in a calendar.
        calendar=None if kind is MailKind.REMINDER else attach(entry, method),
        is_public=cause.kind is ActorKind.PUBLIC and not is_host,
    )
