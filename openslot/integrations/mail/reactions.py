"""What mail does because something happened: one mail for each who takes part, each in its own lane."""

from msgspec.structs import replace

from openslot.bookings.events import BookingCancelled, BookingCreated, BookingEvent, BookingRescheduled
from openslot.bookings.links import calendar_url, manage_url
from openslot.bookings.rules import is_over
from openslot.core.actor import SYSTEM, Actor, ActorKind
from openslot.core.events import Done, Effect, Event, Expanded, GiveUp, Outcome, Reaction, Skipped, Target, TryLater
from openslot.core.work import Work
from openslot.i18n.localization import localize
from openslot.integrations.mail import operations
from openslot.integrations.mail.calendar_entry import attach
from openslot.integrations.mail.letters import say_description, say_title, write_letter
from openslot.integrations.mail.meetings import Host, Meeting, list_recipients, write_entry
from openslot.integrations.mail.models import Address, MailKind, Method, Recipient, Role
from openslot.integrations.mail.notices import NOTICES, Notice
from openslot.integrations.mail.operations import Draft
from openslot.integrations.mail.ports import MailDeferred, MailRefused
from openslot.integrations.mail.rules import DELAYS, is_last_try

SEND, NOTIFY = "mail.send", "mail.notify"
KINDS: dict[str, tuple[type[BookingEvent], MailKind]] = {
    BookingCreated.type: (BookingCreated, MailKind.CONFIRMATION),
    BookingRescheduled.type: (BookingRescheduled, MailKind.RESCHEDULE),
    BookingCancelled.type: (BookingCancelled, MailKind.CANCELLATION),
}


def booking_lane(event: Event) -> str:
    """Keep what is told of one booking in order."""
    return f"mail:booking:{event.subject[1]}"


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make one mail for everyone who takes part in a meeting."""
    event_class, _ = KINDS[effect.event_type]
    booking = effect.event(event_class).booking
    if is_over(booking, now=work.now):
        return Skipped("the meeting is over")
    host = await operations.find_host(work, booking.host_id)
    if host is None:
        return Skipped("the host's account is deleted")
    return Expanded(
        tuple(
            Target(reaction=SEND, target=_name(each), lane=f"{effect.lane}@{each.email.casefold()}")
            for each in list_recipients(booking, host)
        )
    )


async def send(work: Work, effect: Effect) -> Outcome:
    """Tell one person what happened to a meeting."""
    event_class, kind = KINDS[effect.event_type]
    event = effect.event(event_class)
    if is_over(event.booking, now=work.now):
        return Skipped("the meeting is over")
    host = await operations.find_host(work, event.booking.host_id, colour=event.event_type.colour)
    recipient = _find_recipient(event, host, effect.target)
    if host is None or recipient is None:
        return Skipped("the host's account is deleted")
    cause = await operations.find_cause(work, effect.event_id)
    meeting = _read_meeting(work, event, host, cause)
    return await deliver(work, effect, write_draft(meeting, kind, recipient, effect, cause), cause)


async def notify(work: Work, effect: Effect) -> Outcome:
    """Tell a host that something of theirs needs a look."""
    notice = NOTICES[effect.event_type]
    host = await operations.find_host(work, notice.host_of(effect))
    if host is None:
        return Skipped("the account is deleted")
    cause = await operations.find_cause(work, effect.event_id)
    return await deliver(work, effect, _write_notice(notice, host, effect), cause)


async def deliver(work: Work, effect: Effect, draft: Draft, cause: Actor) -> Outcome:
    """Send one mail; what came of it is in the log before the effect is closed."""
    mailer = operations.choose_mailer(work.runtime, cause)
    async with work.runtime.transaction(SYSTEM) as begun:
        mail = await operations.begin_mail(begun, draft, mailer)
    if isinstance(mail, str):
        return Skipped(mail)
    if mail is not None:
        try:
            await mailer.send(mail)
        except MailRefused as fault:
            await _fail(work, effect, str(fault))
            raise GiveUp(str(fault)) from fault
        except MailDeferred as fault:
            if is_last_try(effect.attempts):
                await _fail(work, effect, str(fault))
            raise TryLater(str(fault)) from fault
    return Done(write=lambda done: operations.finish_mail(done, effect.id))


def write_draft(meeting: Meeting, kind: MailKind, recipient: Recipient, effect: Effect, cause: Actor) -> Draft:
    """Write what one person is told of a meeting, with the calendar entry that goes with it."""
    locale = operations.choose_locale(recipient.locale, meeting.host.locale)
    entry = write_entry(
        meeting,
        recipient,
        summary=str(localize(say_title(meeting, recipient), locale)),
        description=str(localize(say_description(meeting, recipient), locale)),
        changed_at=meeting.booking.updated_at,
    )
    method = Method.CANCEL if kind is MailKind.CANCELLATION else Method.REQUEST
    is_host = recipient.role is Role.HOST
    return Draft(
        id=effect.id,
        kind=kind,
        letter=write_letter(meeting, kind, recipient, entry, locale),
        recipient=recipient,
        brand=meeting.host.brand,
        locale=locale,
        host_id=meeting.booking.host_id,
        booking_id=meeting.booking.id,
        reply_to=_invitee_address(meeting) if is_host else Address(meeting.host.email, meeting.host.name),
        # A reminder changes nothing in a calendar.
        calendar=None if kind is MailKind.REMINDER else attach(entry, method),
        is_public=cause.kind is ActorKind.PUBLIC and not is_host,
    )


def _read_meeting(work: Work, event: BookingEvent, host: Host, cause: Actor) -> Meeting:
    booking = event.booking
    meeting = Meeting(
        booking=booking,
        event_type=event.event_type,
        host=host,
        manage_url=manage_url(work.runtime, booking.id),
        calendar_url=calendar_url(work.runtime, booking.id),
        is_reason_of_host=cause.kind is not ActorKind.PUBLIC,
    )
    if isinstance(event, BookingRescheduled):
        return replace(
            meeting,
            previous_starts_at=event.previous_starts_at,
            previous_ends_at=event.previous_ends_at,
            reason=event.reason,
        )
    if isinstance(event, BookingCancelled):
        return replace(meeting, reason=booking.cancel_reason)
    return meeting


def _write_notice(notice: Notice, host: Host, effect: Effect) -> Draft:
    return Draft(
        id=effect.id,
        kind=MailKind.NOTICE,
        letter=notice.write(effect),
        recipient=Recipient(role=Role.HOST, email=host.email, name=host.name, zone=host.zone, locale=host.locale),
        brand=host.brand,
        locale=operations.choose_locale(host.locale),
        host_id=notice.host_of(effect),
    )


def _name(recipient: Recipient) -> str:
    return f"{recipient.role}:{recipient.email}"


def _find_recipient(event: BookingEvent, host: Host | None, target: str | None) -> Recipient | None:
    """Find who is meant: a host or invitee by the part they have, so that a changed address is found too."""
    recipients = list_recipients(event.booking, host) if host else ()
    role = (target or "").partition(":")[0]
    return next((each for each in recipients if _name(each) == target), None) or next(
        (each for each in recipients if each.role == role and each.role is not Role.GUEST), None
    )


def _invitee_address(meeting: Meeting) -> Address:
    return Address(meeting.booking.invitee_email, meeting.booking.invitee_name)


async def _fail(work: Work, effect: Effect, error: str) -> None:
    async with work.runtime.transaction(SYSTEM) as failed:
        await operations.fail_mail(failed, effect.id, error)


MAIL_REACTIONS = (
    Reaction(
        name="mail.fan_out", on=(BookingCreated, BookingRescheduled, BookingCancelled), run=fan_out, lane=booking_lane
    ),
    Reaction(name=SEND, run=send, delays=DELAYS),
    Reaction(name=NOTIFY, on=tuple(notice.event for notice in NOTICES.values()), run=notify, delays=DELAYS),
)
