"""What mail does because something happened or is due: mails, reminders, notices to hosts, and tidying up."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from msgspec import Struct

from openslot.access.events import AddressChangeRequested
from openslot.access.resets import SEND_RESET
from openslot.accounts.events import InvitationCreated, SignUpRequested, UserChanged, UserPasswordChanged
from openslot.accounts.operations import TELL_KEPT
from openslot.bookings import operations as bookings
from openslot.bookings.errors import BookingNotFound
from openslot.bookings.events import BookingCancelled, BookingCreated, BookingRescheduled
from openslot.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.bookings.rules import is_over
from openslot.core.actor import Actor
from openslot.core.events import Effect
from openslot.core.work import Expanded, Outcome, Periodic, Reaction, Skipped, Target, Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.integrations.mail import operations, rules, store
from openslot.integrations.mail.account_mails import (
    INVITE,
    SIGN_UP,
    TELL_CHANGE,
    invite,
    send_deletion_link,
    send_reset,
    send_sign_up,
    tell_password_changed,
)
from openslot.integrations.mail.address_mails import (
    CONFIRM_ADDRESS,
    TELL_ADDRESS,
    TELL_REQUEST,
    send_confirmation_link,
    tell_address_change_requested,
    tell_address_changed,
    tell_address_kept,
)
from openslot.integrations.mail.letters import (
    KINDS,
    find_recipient,
    name_recipient,
    read_event,
    read_meeting,
    write_draft,
)
from openslot.integrations.mail.meetings import MailHost, is_wanted, list_recipients
from openslot.integrations.mail.models import UNWANTED, MailKind, Recipient
from openslot.integrations.mail.notices import NOTICES, write_notice
from openslot.integrations.mail.operations import deliver, leave_unsent, mail_server
from openslot.integrations.mail.rules import DELAYS
from openslot.jobs.batches import repeat
from openslot.people.deletions import SEND_LINK

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


SEND, NOTIFY = "mail.send", "mail.notify"
OVER, NO_HOST = "the meeting is over", "the host's account is deleted"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for each participant of a meeting, and plan its reminders again."""
    booking = read_event(effect).booking
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped(NO_HOST)
    if is_over(booking, now=work.now):
        return Skipped(OVER)
    return Expanded(
        tuple(_target(booking, each) for each in list_recipients(booking, host)),
        write=lambda work: plan_reminders(work, booking, host, effect.actor),
    )


async def send(work: Work, effect: Effect) -> Outcome:
    """Notify one person of what happened to a meeting."""
    event = read_event(effect)
    if is_over(event.booking, now=work.now):
        return await leave_unsent(work, effect, OVER)
    host = await operations.find_host(work, event.booking.host_id, colour=event.event_type.colour)
    recipient = find_recipient(event.booking, host, effect.target) if host else None
    if host is None or recipient is None:
        return await leave_unsent(work, effect, NO_HOST)
    kind = KINDS[effect.event_type][1]
    if not is_wanted(host, recipient, kind):
        return await leave_unsent(work, effect, UNWANTED)
    cause = effect.actor
    meeting = read_meeting(work.runtime, event, host, cause=cause)
    return await deliver(work, effect, write_draft(meeting, kind, recipient, effect, cause), cause)


async def notify(work: Work, effect: Effect) -> Outcome:
    """Notify someone about their account."""
    notice = NOTICES[effect.event_type]
    host_id = notice.host_of(effect)
    host = await operations.find_host(work, host_id)
    if host is None:
        return Skipped(NO_HOST)
    if notice.topic is not None and notice.topic not in host.topics:
        return await leave_unsent(work, effect, UNWANTED)
    return await deliver(work, effect, write_notice(effect, notice.write(effect), host, host_id), effect.actor)


def _target(booking: Booking, recipient: Recipient) -> Target:
    lane = f"mail:booking:{booking.id}@{recipient.email.casefold()}"
    return Target(reaction=SEND, target=name_recipient(recipient), lane=lane)


MAIL_REACTIONS = (
    Reaction(name="mail.fan_out", on=(BookingCreated, BookingRescheduled, BookingCancelled), run=fan_out, lane="mail"),
    Reaction(name=SEND, run=send, delays=DELAYS, destination=mail_server),
    Reaction(name=REMIND, run=remind, delays=DELAYS, destination=mail_server),
    Reaction(name=INVITE, on=(InvitationCreated,), run=invite, delays=DELAYS, destination=mail_server),
    Reaction(name=SIGN_UP, on=(SignUpRequested,), run=send_sign_up, delays=DELAYS, destination=mail_server),
    Reaction(name=SEND_RESET, run=send_reset, delays=DELAYS, destination=mail_server),
    Reaction(name=TELL_KEPT, run=tell_address_kept, delays=DELAYS, destination=mail_server),
    Reaction(name=TELL_ADDRESS, on=(UserChanged,), run=tell_address_changed, delays=DELAYS, destination=mail_server),
    Reaction(
        name=CONFIRM_ADDRESS,
        on=(AddressChangeRequested,),
        run=send_confirmation_link,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(
        name=TELL_REQUEST,
        on=(AddressChangeRequested,),
        run=tell_address_change_requested,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(name=SEND_LINK, run=send_deletion_link, delays=DELAYS, destination=mail_server),
    Reaction(
        name=TELL_CHANGE,
        on=(UserPasswordChanged,),
        run=tell_password_changed,
        delays=DELAYS,
        destination=mail_server,
    ),
    Reaction(
        name=NOTIFY,
        on=tuple(notice.event for notice in NOTICES.values()),
        run=notify,
        delays=DELAYS,
        destination=mail_server,
    ),
)


LOOKED_AT = 1000


async def tidy_mail(work: Work) -> str:
    """Close log entries of emails that are no longer tried, and remove emails past their retention."""
    failed = await store.fail_abandoned(work.db, limit=LOOKED_AT)
    before = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    removed = await repeat(lambda limit: store.delete_old(work.db, before, limit=limit))
    return f"{failed} given up, {removed} mails removed"


MAIL_JOBS = (Periodic(name="mail.tidy", expression="2-59/5 * * * *", run=tidy_mail, transaction="none"),)
