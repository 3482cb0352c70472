"""What mail does because something happened: one mail for each who takes part, and reminders before the meeting."""

from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.bookings.models import Booking, Status
from openslot.bookings.rules import is_over
from openslot.core.effects import drop_planned
from openslot.core.events import Effect, Event, Expanded, Outcome, Reaction, Skipped, Target
from openslot.core.work import Work
from openslot.integrations.mail import operations, rules, store
from openslot.integrations.mail.deliveries import deliver, leave_unsent, mail_server
from openslot.integrations.mail.drafts import (
    KINDS,
    find_recipient,
    name_recipient,
    read_event,
    read_meeting,
    write_draft,
)
from openslot.integrations.mail.meetings import list_recipients
from openslot.integrations.mail.models import MailKind, Recipient, Role
from openslot.integrations.mail.notices import NOTICES, write_notice
from openslot.integrations.mail.rules import DELAYS

SEND, REMIND, SEND_REMINDER, NOTIFY = "mail.send", "mail.remind", "mail.send_reminder", "mail.notify"
OVER, NO_HOST = "the meeting is over", "the host's account is deleted"
CANCELLED, MOVED = "the booking is cancelled", "the booking was rescheduled"


def booking_lane(event: Event) -> str:
    """Keep what is told of one booking in order."""
    return f"mail:booking:{event.subject[1]}"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for everyone who takes part in a meeting, and plan its reminders anew."""
    booking = read_event(effect).booking
    reason = CANCELLED if booking.status is Status.CANCELLED else MOVED
    await drop_planned(work.db, booking.id, reaction=REMIND, but=effect.event_id, reason=reason, now=work.now)
    if is_over(booking, now=work.now):
        return Skipped(OVER)
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped(NO_HOST)
    mails = (_target(SEND, booking, each) for each in list_recipients(booking, host))
    return Expanded((*mails, *await _plan_reminders(work, booking)))


async def send(work: Work, effect: Effect) -> Outcome:
    """Tell one person what happened to a meeting."""
    if is_over(read_event(effect).booking, now=work.now):
        return await leave_unsent(work, effect, OVER)
    return await _tell(work, effect, KINDS[effect.event_type][1])


async def remind(work: Work, effect: Effect) -> Outcome:
    """Remind the invitee and the guests, unless that has lost its meaning; the host has a calendar."""
    booking = read_event(effect).booking
    wanted = await operations.get_reminders(work, booking.host_id, booking.event_type_id)
    minutes = int(effect.target or 0)
    lost = rules.find_lost_meaning(booking.starts_at, minutes, wanted, now=work.now)
    if (reason := lost or await _find_change(work, booking)) is not None:
        return Skipped(reason)
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped(NO_HOST)
    invited = (each for each in list_recipients(booking, host) if each.role is not Role.HOST)
    return Expanded(tuple(_target(SEND_REMINDER, booking, each) for each in invited))


async def send_reminder(work: Work, effect: Effect) -> Outcome:
    """Remind one person of a meeting that is still to come."""
    booking = read_event(effect).booking
    if work.now >= booking.starts_at:
        return await leave_unsent(work, effect, rules.BEGUN)
    if (changed := await _find_change(work, booking)) is not None:
        return await leave_unsent(work, effect, changed)
    return await _tell(work, effect, MailKind.REMINDER)


async def notify(work: Work, effect: Effect) -> Outcome:
    """Tell a host that something of theirs needs a look."""
    notice = NOTICES[effect.event_type]
    host = await operations.find_host(work, notice.host_of(effect))
    if host is None:
        return Skipped(NO_HOST)
    cause = await operations.find_cause(work, effect.event_id)
    return await deliver(work, effect, write_notice(notice, host, effect), cause)


async def _tell(work: Work, effect: Effect, kind: MailKind) -> Outcome:
    event = read_event(effect)
    host = await operations.find_host(work, event.booking.host_id, colour=event.event_type.colour)
    recipient = find_recipient(event, host, effect.target) if host else None
    if host is None or recipient is None:
        return await leave_unsent(work, effect, NO_HOST)
    cause = await operations.find_cause(work, effect.event_id)
    meeting = read_meeting(work.runtime, event, host, kind, cause)
    return await deliver(work, effect, write_draft(meeting, kind, recipient, effect, cause), cause)


async def _plan_reminders(work: Work, booking: Booking) -> list[Target]:
    if booking.status is not Status.CONFIRMED:
        return []
    minutes = await operations.get_reminders(work, booking.host_id, booking.event_type_id)
    due = rules.plan_reminders(booking.starts_at, minutes, now=work.now)
    return [Target(reaction=REMIND, target=str(each), due_at=moment) for each, moment in due.items()]


async def _find_change(work: Work, then: Booking) -> str | None:
    """Say what happened to a booking since; None where it is as it was."""
    found = await store.find_booking_state(work.db, then.id)
    if found is None or found["status"] != Status.CONFIRMED:
        return CANCELLED
    return None if found["sequence"] == then.sequence else MOVED


def _target(reaction: str, booking: Booking, recipient: Recipient) -> Target:
    lane = f"mail:booking:{booking.id}@{recipient.email.casefold()}"
    return Target(reaction=reaction, target=name_recipient(recipient), lane=lane)


MAIL_REACTIONS = (
    Reaction(
        name="mail.fan_out", on=(BookingCreated, BookingRescheduled, BookingCancelled), run=fan_out, lane=booking_lane
    ),
    Reaction(name=SEND, run=send, delays=DELAYS, destination=mail_server),
    Reaction(name=REMIND, run=remind),
    Reaction(name=SEND_REMINDER, run=send_reminder, delays=DELAYS, destination=mail_server),
    Reaction(
        name=NOTIFY,
        on=tuple(notice.event for notice in NOTICES.values()),
        run=notify,
        delays=DELAYS,
        destination=mail_server,
    ),
)
