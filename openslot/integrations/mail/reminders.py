"""Reminders: one planned effect for each recipient, moved and dropped with the booking."""

from collections.abc import Iterator
from uuid import UUID

from msgspec import Struct

from openslot.bookings import operations as bookings
from openslot.bookings.errors import BookingNotFound
from openslot.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.core.actor import Actor
from openslot.core.events import Effect, Outcome
from openslot.core.work import Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.integrations.mail import operations, rules
from openslot.integrations.mail.deliveries import deliver, leave_unsent
from openslot.integrations.mail.drafts import find_recipient, name_recipient, read_meeting, write_draft
from openslot.integrations.mail.meetings import MailHost, is_wanted, list_recipients
from openslot.integrations.mail.models import MailKind, Recipient
from openslot.integrations.mail.topics import UNWANTED

REMIND = "mail.remind"
CANCELLED, MOVED = "the booking is cancelled", "the booking was rescheduled"
SWITCHED_OFF = "reminders are switched off"


class Reminder(Struct, frozen=True, kw_only=True):
    """Who is reminded of which version of a booking, and who caused that version."""

    booking_id: UUID
    sequence: int
    minutes: int
    recipient: str
    cause: Actor


async def plan_reminders(work: Work, booking: Booking, host: MailHost, cause: Actor) -> None:
    """Plan the reminders of a booking as it is now, and drop those that it no longer has.

    Reminders are for the invitee and the guests, and for a host who asks for them.
    """
    wanted = await operations.get_reminders(work, booking.host_id, booking.event_type_id)
    is_on = booking.status is Status.CONFIRMED
    due = rules.plan_reminders(booking.starts_at, wanted, now=work.now) if is_on else {}
    for minutes, recipient in _list_all(booking, host, wanted):
        key = f"{booking.id}:{minutes}:{recipient.email.casefold()}"
        if minutes not in due:
            await work.drop_planned(REMIND, key, reason=MOVED if is_on else CANCELLED)
            continue
        reminder = Reminder(
            booking_id=booking.id,
            sequence=booking.sequence,
            minutes=minutes,
            recipient=name_recipient(recipient),
            cause=cause,
        )
        await work.plan(REMIND, key, due_at=due[minutes], payload=reminder, tenant_id=booking.host_id)


async def remind(work: Work, effect: Effect) -> Outcome:
    """Remind one person of a meeting, unless the reminder is no longer useful."""
    reminder = effect.plan(Reminder)
    details = await _find_booking(work, reminder.booking_id)
    if details is None:
        return await leave_unsent(work, effect, CANCELLED)
    booking, cause = details.booking, reminder.cause
    if (lost := await _find_lost_meaning(work, booking, reminder)) is not None:
        return await leave_unsent(work, effect, lost)
    host = await operations.find_host(work, booking.host_id, colour=details.event_type.colour)
    recipient = find_recipient(booking, host, reminder.recipient) if host else None
    if host is None or recipient is None:
        return await leave_unsent(work, effect, CANCELLED)
    if not is_wanted(host, recipient, MailKind.REMINDER):
        return await leave_unsent(work, effect, UNWANTED)
    meeting = read_meeting(work.runtime, details, host, cause=cause)
    return await deliver(work, effect, write_draft(meeting, MailKind.REMINDER, recipient, effect, cause), cause)


async def _find_lost_meaning(work: Work, booking: Booking, reminder: Reminder) -> str | None:
    if booking.status is not Status.CONFIRMED:
        return CANCELLED
    if booking.sequence != reminder.sequence:
        return MOVED
    if not await flags.is_enabled(work, FlagKey.MAIL_REMINDERS, user_id=booking.host_id):
        return SWITCHED_OFF
    wanted = await operations.get_reminders(work, booking.host_id, booking.event_type_id)
    return rules.find_lost_meaning(booking.starts_at, reminder.minutes, wanted, now=work.now)


async def _find_booking(work: Work, booking_id: UUID) -> BookingDetails | None:
    try:
        return await bookings.get_booking(work, BookingRef(booking_id, None))
    except BookingNotFound:
        return None


def _list_all(booking: Booking, host: MailHost, wanted: tuple[int, ...]) -> Iterator[tuple[int, Recipient]]:
    reminded = [each for each in list_recipients(booking, host) if is_wanted(host, each, MailKind.REMINDER)]
    return ((minutes, recipient) for minutes in wanted for recipient in reminded)
