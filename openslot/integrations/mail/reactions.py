"""What mail does because something happened or is due: mails, reminders, notices to hosts, and tidying up."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import product
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.access.events import AddressChangeRequested
from openslot.access.resets import SEND_RESET
from openslot.accounts.events import InvitationCreated, SignUpRequested, UserChanged, UserPasswordChanged
from openslot.accounts.operations import TELL_KEPT
from openslot.bookings import operations as bookings
from openslot.bookings.errors import BookingNotFound
from openslot.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingDeclined,
    BookingEvent,
    BookingInvitationFailed,
    BookingLapsed,
    BookingLinkAdded,
    BookingRequested,
    BookingRescheduled,
)
from openslot.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.bookings.rules import is_over
from openslot.core.actor import Actor
from openslot.core.effects import drop_effect, plan_effect
from openslot.core.events import Change, Effect, Event
from openslot.core.work import Expanded, Outcome, Periodic, Reaction, Skipped, Target, Work
from openslot.flags import operations as flags
from openslot.flags.models import FlagKey
from openslot.integrations.mail import account_mails, operations, payment_mails, request_mails, rules, store
from openslot.integrations.mail.letters import (
    KINDS,
    find_recipient,
    name_recipient,
    read_event,
    read_meeting,
    with_payment,
    write_draft,
)
from openslot.integrations.mail.meetings import InvitedBy, MailedMeeting, MailHost, is_wanted, list_recipients
from openslot.integrations.mail.models import UNWANTED, MailKind, RecipientRole
from openslot.integrations.mail.notices import NOTICES, to_owner, write_notice
from openslot.integrations.mail.operations import deliver, leave_unsent, mail_server
from openslot.integrations.mail.rules import DELAYS
from openslot.integrations.mail.series_mails import write_series_draft
from openslot.jobs.batches import delete_old
from openslot.payments.events import PaymentRefunded
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


async def plan_reminders(work: Work, booking: Booking, host: MailHost, cause: Actor) -> tuple[Change, ...]:
    """Plan the reminders of a booking as it is now, and drop those that it no longer has.

    Reminders are for the invitee and the guests, and for a host who asks for them.
    """
    wanted = (await operations.get_reminders(work, booking.host_id, booking.event_type_id)).by_email
    is_on = booking.status is Status.CONFIRMED
    due = rules.plan_reminders(booking.starts_at, wanted, now=work.now) if is_on else {}
    changes = []
    reminded = [each for each in list_recipients(booking, host) if is_wanted(host, each, MailKind.REMINDER)]
    for minutes, recipient in product(wanted, reminded):
        key = f"{booking.id}:{minutes}:{recipient.email.casefold()}"
        if minutes not in due:
            changes.append(drop_effect(REMIND, key, reason=MOVED if is_on else CANCELLED, now=work.now))
            continue
        reminder = Reminder(
            booking_id=booking.id,
            sequence=booking.sequence,
            minutes=minutes,
            recipient=name_recipient(recipient),
            cause=cause,
        )
        changes.append(
            plan_effect(REMIND, key, due_at=due[minutes], payload=reminder, tenant_id=booking.host_id, now=work.now)
        )
    return tuple(changes)


async def remind(work: Work, effect: Effect) -> Outcome:
    """Remind one person of a meeting, unless the reminder is no longer useful."""
    reminder = effect.plan(Reminder)
    try:
        details = await bookings.get_booking(work, BookingRef(reminder.booking_id, None))
    except BookingNotFound:
        return await leave_unsent(work, effect, CANCELLED)
    if (lost := await _find_lost_meaning(work, details.booking, reminder)) is not None:
        return await leave_unsent(work, effect, lost)
    to, cause = reminder.recipient, reminder.cause
    return await _tell(work, effect, details, MailKind.REMINDER, target=to, cause=cause, unless=CANCELLED)


async def _find_lost_meaning(work: Work, booking: Booking, reminder: Reminder) -> str | None:
    if booking.status is not Status.CONFIRMED:
        return CANCELLED
    if booking.sequence != reminder.sequence:
        return MOVED
    if not await flags.is_enabled(work, FlagKey.MAIL_REMINDERS, user_id=booking.host_id):
        return SWITCHED_OFF
    wanted = (await operations.get_reminders(work, booking.host_id, booking.event_type_id)).by_email
    return rules.find_lost_meaning(booking.starts_at, reminder.minutes, wanted, now=work.now)


SEND = "mail.send"
OVER, NO_HOST = "the meeting is over", "the host's account is deleted"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for each participant of a meeting, and plan its reminders again."""
    event = read_event(effect)
    booking = event.booking
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped(NO_HOST)
    if _is_over(event, now=work.now):
        return Skipped(OVER)
    # What happens to bookings of a series is told in its order.
    lane = f"mail:series:{booking.series_id}" if booking.series_id else effect.lane
    targets = tuple(
        Target(reaction=SEND, target=name_recipient(to), lane=f"{lane}@{to.email.casefold()}")
        for to in list_recipients(booking, host)
        if event.told_by is None
        and (to.role is not RecipientRole.HOST or effect.event_type != BookingInvitationFailed.type)
    )
    if effect.event_type in {BookingLinkAdded.type, BookingInvitationFailed.type}:
        # Its time is the same, and so are its reminders.
        return Expanded(targets)
    return Expanded(targets, await plan_reminders(work, booking, host, effect.actor))


def _is_over(event: BookingEvent, *, now: datetime) -> bool:
    """Answer whether a mail has lost its meaning; one about a series has it until the last date."""
    return is_over(event.booking, now=now) and all(each.ends_at <= now for each in event.series)


async def send(work: Work, effect: Effect) -> Outcome:
    """Notify one person of what happened to a meeting, or to all of a series."""
    event = read_event(effect)
    if _is_over(event, now=work.now):
        return await leave_unsent(work, effect, OVER)
    kind = KINDS[effect.event_type][1]
    return await _tell(work, effect, event, kind, target=effect.target, cause=effect.actor, unless=NO_HOST)


async def _tell(
    work: Work,
    effect: Effect,
    about: BookingEvent | BookingDetails,
    kind: MailKind,
    *,
    target: str | None,
    cause: Actor,
    unless: str,
) -> Outcome:
    """Send one person a mail about a meeting, unless there is no such host or recipient any more, or they want none."""
    host = await operations.find_host(work, about.booking.host_id, color=about.event_type.color)
    recipient = find_recipient(about.booking, host, target) if host else None
    if host is None or recipient is None:
        return await leave_unsent(work, effect, unless)
    if not is_wanted(host, recipient, kind):
        return await leave_unsent(work, effect, UNWANTED)
    meeting = await with_payment(work, read_meeting(work.runtime, about, host, cause=cause))
    if recipient.role is not RecipientRole.HOST:
        meeting = await with_inviter(work, meeting)
    write = write_series_draft if meeting.dates else write_draft
    return await deliver(work, effect, write(meeting, kind, recipient, effect, cause), cause)


async def with_inviter(work: Work, meeting: MailedMeeting) -> MailedMeeting:
    """Add whether the host's calendar has invited to a meeting as it was then, or is about to."""
    if meeting.invited_by is not InvitedBy.MAIL:
        return meeting
    is_invited = await store.is_invited_by_calendar(work.db, meeting.booking.id, meeting.booking.updated_at)
    return replace(meeting, invited_by=InvitedBy.CALENDAR) if is_invited else meeting


async def notify(work: Work, effect: Effect) -> Outcome:
    """Notify someone about their account."""
    notice = NOTICES[effect.event_type]
    host = await operations.find_host(work, effect.tenant_id) if effect.tenant_id else None
    if host is None:
        return Skipped(NO_HOST)
    if notice.topic is not None and notice.topic not in host.topics:
        return await leave_unsent(work, effect, UNWANTED)
    letter = notice.write(effect.event(notice.event))
    to, host_id = to_owner(host), effect.tenant_id
    draft = write_notice(effect, letter, to, host_id=host_id, is_security=notice.is_security)
    return await deliver(work, effect, draft, effect.actor)


def _mailing(name: str, run: Callable[[Work, Effect], Awaitable[Outcome]], *on: type[Event]) -> Reaction:
    return Reaction(name=name, on=on, run=run, delays=DELAYS, destination=mail_server)


MAIL_REACTIONS = (
    Reaction(
        name="mail.fan_out",
        on=(BookingCreated, BookingRescheduled, BookingCancelled, BookingLinkAdded, BookingInvitationFailed),
        run=fan_out,
        lane="mail",
    ),
    _mailing(SEND, send),
    _mailing(REMIND, remind),
    _mailing("mail.invite", account_mails.invite, InvitationCreated),
    _mailing("mail.sign_up", account_mails.send_sign_up, SignUpRequested),
    _mailing(SEND_RESET, account_mails.send_reset),
    _mailing(TELL_KEPT, account_mails.tell_address_kept),
    _mailing("mail.address_changed", account_mails.tell_address_changed, UserChanged),
    _mailing("mail.confirm_address", account_mails.send_confirmation_link, AddressChangeRequested),
    _mailing("mail.address_change_requested", account_mails.tell_address_change_requested, AddressChangeRequested),
    _mailing(SEND_LINK, account_mails.send_deletion_link),
    _mailing("mail.password_changed", account_mails.tell_password_changed, UserPasswordChanged),
    _mailing("mail.ask_host", request_mails.ask_host, BookingRequested),
    _mailing("mail.request", request_mails.tell_invitee, BookingRequested, BookingDeclined, BookingLapsed),
    _mailing("mail.refunded", payment_mails.tell_refunded, PaymentRefunded),
    _mailing("mail.notify", notify, *(notice.event for notice in NOTICES.values())),
)


LOOKED_AT = 1000


async def tidy_mail(work: Work) -> str:
    """Close log entries of emails that are no longer tried, and remove emails past their retention."""
    failed = await store.fail_abandoned(work.db, limit=LOOKED_AT)
    before = work.now - timedelta(days=work.runtime.settings.keep_mail_days)
    removed = await delete_old(work.db, "mail_messages", "created_at", before=before)
    return f"{failed} given up, {removed} mails removed"


MAIL_JOBS = (Periodic(name="mail.tidy", expression="2-59/5 * * * *", run=tidy_mail, transaction="none"),)
