"""Reminders and follow-ups by mail: planned with the booking, checked again when due, in our words or the host's."""

from datetime import datetime, timedelta
from itertools import product
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.models import Booking, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import get_booking
from openslot.domains.bookings.takeovers import find_taken_over
from openslot.domains.bookings.words import format_short
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.models import EventType
from openslot.domains.event_types.operations import get_any_event_type
from openslot.domains.mail import reasons
from openslot.domains.mail.letters import (
    explain_mail,
    format_title,
    read_meeting,
    write_draft,
    write_people,
    write_what_and_when,
)
from openslot.domains.mail.meetings import (
    MailedMeeting,
    MailHost,
    find_recipient,
    format_where,
    list_recipients,
    name_recipient,
    to_host,
    with_inviter,
    with_payment,
)
from openslot.domains.mail.models import Draft, Letter, LetterBody, Link, MailKind, Recipient, RecipientRole, compose
from openslot.domains.mail.operations import deliver, find_hosts, find_mail_host, leave_unsent
from openslot.domains.reminders import rules
from openslot.domains.reminders.models import Entries, ReminderChannel, ReminderEntry, ReminderMoment
from openslot.domains.reminders.operations import get_reminders
from openslot.domains.reminders.placeholders import (
    Placeholder,
    describe_booking,
    fill,
    fill_html,
    is_personal,
    list_links,
)
from openslot.platform.core.actor import SYSTEM, Actor
from openslot.platform.core.effects import drop_effect, list_planned, plan_effect
from openslot.platform.core.events import Change, Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.text import fold_ascii, one_line
from openslot.platform.core.work import Expanded, Outcome, Runtime, Skipped, Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled
from openslot.platform.i18n import CodedReason, Text
from openslot.platform.i18n.languages import Locale, choose_locale
from openslot.platform.i18n.localization import localize

REMIND, FOLLOW_UP, TEST = "mail.remind", "mail.follow_up", "mail.test_reminder"
REACTION_OF = {ReminderMoment.BEFORE: REMIND, ReminderMoment.AFTER: FOLLOW_UP}
KIND_OF = {ReminderMoment.BEFORE: MailKind.REMINDER, ReminderMoment.AFTER: MailKind.FOLLOW_UP}


class Reminder(Struct, frozen=True, kw_only=True):
    """Who is written to about which version of a booking, and who caused that version."""

    booking_id: UUID
    sequence: int
    moment: ReminderMoment = ReminderMoment.BEFORE
    minutes: int
    recipient: str
    cause: Actor
    host_id: UUID | None = None
    """The recipient among the hosts of a team."""


async def plan_reminders(
    work: Work, booking: Booking, hosts: tuple[MailHost, ...], cause: Actor, *, former: tuple[MailHost, ...] = ()
) -> tuple[Change, ...]:
    """Plan the reminders and follow-ups of a booking as it is now, and drop those that it no longer has."""
    wanted = await _list_wanted(work, booking)
    is_on = booking.status is Status.CONFIRMED
    changes = [
        drop_effect(REACTION_OF[entry.moment], _name(booking, entry, each), reason=reasons.HANDED_OVER, now=work.now)
        for entry, each in product(wanted, map(to_host, former))
        if _is_for(entry, each)
    ]
    for entry, recipient in _list_readers(wanted, booking, hosts):
        if is_on and rules.is_to_come(entry, booking.starts_at, booking.ends_at, now=work.now):
            changes.append(_plan(work, booking, entry, recipient, cause))
        else:
            reaction, key = REACTION_OF[entry.moment], _name(booking, entry, recipient)
            changes.append(
                drop_effect(reaction, key, reason=reasons.MOVED if is_on else reasons.CANCELLED, now=work.now)
            )
    return tuple(changes)


async def plan_again(work: Work, effect: Effect) -> Outcome:
    """Plan the reminders and follow-ups of a booking by what its new owner has chosen, and drop all others.

    One that is due already stays as it is if the new owner has it too.
    """
    details = await find_taken_over(work, effect)
    hosts = await find_hosts(work, details) if details else ()
    if details is None or not hosts:
        return Skipped(reasons.CANCELLED)
    booking = details.booking
    readers = _list_readers(await _list_wanted(work, booking), booking, hosts)
    kept = {(REACTION_OF[entry.moment], _name(booking, entry, each)) for entry, each in readers}
    planned = await list_planned(work.db, REACTION_OF.values(), str(booking.id))
    dropped = (
        drop_effect(reaction, key, reason=rules.UNWANTED_ENTRY, now=work.now)
        for reaction, key in planned
        if (reaction, key) not in kept
    )
    changes = (
        _plan(work, booking, entry, each, effect.actor)
        for entry, each in readers
        if rules.is_to_come(entry, booking.starts_at, booking.ends_at, now=work.now)
    )
    return Expanded((), (*dropped, *changes))


def _list_readers(
    wanted: Entries, booking: Booking, hosts: tuple[MailHost, ...]
) -> list[tuple[ReminderEntry, Recipient]]:
    return [each for each in product(wanted, list_recipients(booking, hosts)) if _is_for(*each)]


def _plan(work: Work, booking: Booking, entry: ReminderEntry, to: Recipient, cause: Actor) -> Change:
    reminder = Reminder(
        booking_id=booking.id,
        sequence=booking.sequence,
        moment=entry.moment,
        minutes=entry.minutes,
        recipient=name_recipient(to),
        cause=cause,
        host_id=to.user_id,
    )
    due_at = entry.due_at(booking.starts_at, booking.ends_at)
    reaction, key = REACTION_OF[entry.moment], _name(booking, entry, to)
    return plan_effect(reaction, key, due_at=due_at, payload=reminder, tenant_id=booking.host_id, now=work.now)


def _name(booking: Booking, entry: ReminderEntry, recipient: Recipient) -> str:
    moment = "" if entry.is_reminder else "after-"
    return f"{booking.id}:{moment}{entry.minutes}:{fold_ascii(recipient.email)}"


async def _list_wanted(work: Work, booking: Booking) -> Entries:
    entries = await get_reminders(work, booking.host_id, booking.event_type_id)
    return rules.list_of_channels(entries, ReminderChannel.EMAIL)


def _is_for(entry: ReminderEntry, recipient: Recipient) -> bool:
    if recipient.role is RecipientRole.HOST:
        return entry.is_for_host
    # Guests have not asked for anything, and after the meeting there is nothing that they must know.
    return entry.is_for_invitee and (entry.is_reminder or recipient.role is not RecipientRole.GUEST)


async def remind(work: Work, effect: Effect) -> Outcome:
    """Send one person a reminder or a follow-up, unless it is no longer useful."""
    reminder = effect.plan(Reminder)
    try:
        details = await get_booking(work, BookingRef(reminder.booking_id, None))
    except BookingNotFound:
        return await leave_unsent(work, effect, reasons.CANCELLED)
    entries = await _list_wanted(work, details.booking)
    entry = rules.find_entry(entries, reminder.moment, reminder.minutes, ReminderChannel.EMAIL)
    lost = await _find_lost_meaning(work, details.booking, reminder, entry, entries)
    if lost is not None or entry is None:
        return await leave_unsent(work, effect, lost or rules.UNWANTED_ENTRY)
    hosts = await find_hosts(work, details)
    readers = list_recipients(details.booking, hosts) if hosts else ()
    recipient = find_recipient(readers, reminder.recipient, user_id=reminder.host_id)
    if recipient is None:
        return await leave_unsent(
            work, effect, reasons.HANDED_OVER if hosts and reminder.host_id else reasons.CANCELLED
        )
    if not _is_for(entry, recipient):
        return await leave_unsent(work, effect, reasons.UNWANTED)
    meeting = await with_payment(work, read_meeting(work.runtime, details, hosts, cause=reminder.cause))
    if recipient.role is not RecipientRole.HOST:
        meeting = await with_inviter(work, meeting)
    return await deliver(work, effect, write_mail(meeting, entry, recipient, effect.id, reminder.cause), reminder.cause)


async def _find_lost_meaning(
    work: Work, booking: Booking, reminder: Reminder, entry: ReminderEntry | None, entries: Entries
) -> CodedReason | None:
    if booking.status is not Status.CONFIRMED:
        return reasons.CANCELLED
    if booking.sequence != reminder.sequence:
        return reasons.MOVED
    if booking.no_show:
        return reasons.NO_SHOW
    if not await is_enabled(work, FlagKey.MAIL_REMINDERS, user_id=booking.host_id):
        return reasons.SWITCHED_OFF
    return rules.find_lost_meaning(entry, entries, booking.starts_at, booking.ends_at, now=work.now)


def write_mail(meeting: MailedMeeting, entry: ReminderEntry, to: Recipient, id_: UUID, cause: Actor) -> Draft:
    """Write a reminder or a follow-up to one person: in the host's words, as far as they have chosen any."""
    locale = choose_locale(to.locale, meeting.host.locale)
    ours = None if entry.is_reminder else _write_follow_up(meeting, to, locale)
    draft = write_draft(meeting, KIND_OF[entry.moment], to, id_, cause, ours=ours)
    return replace(draft, letter=_with_own_words(draft.letter, entry, meeting, to, locale))


def _write_follow_up(meeting: MailedMeeting, to: Recipient, locale: Locale) -> Letter:
    title, when = format_title(meeting, to), format_short(meeting.booking.starts_at, to.zone, locale)
    facts = (*write_what_and_when(meeting, to, locale), *write_people(meeting, to))
    if to.role is RecipientRole.HOST:
        return compose(
            Text("After the meeting: %(title)s, %(when)s", title=title, when=when),
            Text("If the invitee did not come, mark the booking as a no-show."),
            heading=Text("Your meeting is over"),
            facts=facts,
            button=Link(label=Text("View the booking"), url=meeting.booking_url),
            footer=explain_mail(meeting, to),
        )
    host = meeting.host_names
    return compose(
        Text("Thank you: %(title)s, %(when)s", title=title, when=when),
        Text("%(host)s thanks you for the meeting. If you have questions, reply to this email.", host=host),
        heading=Text("Thank you for the meeting"),
        facts=facts,
        footer=explain_mail(meeting, to),
    )


def _with_own_words(
    letter: Letter, entry: ReminderEntry, meeting: MailedMeeting, to: Recipient, locale: Locale
) -> Letter:
    """Put the host's words in place of ours; guests keep ours where the words are for the invitee alone."""
    values = _list_values(meeting, to, locale)
    is_guest = to.role is RecipientRole.GUEST
    subject, text = (words if not (is_guest and is_personal(words)) else "" for words in (entry.subject, entry.text))
    if subject:
        filled = one_line(fill(subject, values), max_=rules.LONGEST_SUBJECT)
        letter = replace(letter, subject=filled, heading=filled)
    if not text:
        return letter
    return replace(letter, paragraphs=(), body=LetterBody(text=fill(text, values), html=fill_html(text, values)))


def _list_values(meeting: MailedMeeting, to: Recipient, locale: Locale) -> dict[str, Placeholder]:
    is_host = to.role is RecipientRole.HOST
    return describe_booking(
        meeting.booking,
        meeting.event_type,
        invitee=meeting.invitee_name,
        host=str(localize(meeting.host_names, locale)),
        place=format_where(meeting.booking.location, to, one_line(meeting.host.name)),
        links=list_links(meeting.booking_url if is_host else meeting.manage_url, meeting.event_type),
        zone=to.zone,
        locale=locale,
    )


class TestReminder(Struct, frozen=True, kw_only=True):
    """A test of what a host has typed, which may not be saved."""

    user_id: UUID
    event_type_id: UUID
    entry: ReminderEntry
    language: str
    recipient: str
    """The recipient as lists of effects show it."""


async def plan_test_reminder(
    work: Work, user: User, event_type: EventType, entry: ReminderEntry, language: str
) -> None:
    """Let a reminder or a follow-up about a made-up booking be sent to the host's own address, and to nobody else."""
    test = TestReminder(
        user_id=user.id,
        event_type_id=event_type.id,
        entry=rules.check_entry(entry),
        language=language,
        recipient=f"{RecipientRole.HOST}:{user.email}",
    )
    await work.plan(TEST, f"{new_id()}", due_at=work.now, payload=test, tenant_id=user.id)


async def send_test(work: Work, effect: Effect) -> Outcome:
    test = effect.plan(TestReminder)
    host = await find_mail_host(work, test.user_id)
    if host is None:
        return await leave_unsent(work, effect, reasons.CANCELLED)
    try:
        event_type = await get_any_event_type(work, test.event_type_id)
    except EventTypeNotFound:
        return await leave_unsent(work, effect, reasons.CANCELLED)
    draft = write_sample_reminder(work, host, event_type, test.entry, language=test.language, id_=effect.id)[0]
    note = Text("This is a test of the words that you have written. There is no booking, so its links lead nowhere.")
    letter = replace(
        draft.letter,
        subject=Text("Test: %(subject)s", subject=draft.letter.subject),
        footer=(note,),
    )
    to = replace(draft.recipient, role=RecipientRole.HOST, email=host.email, name=host.name)
    own = replace(draft, letter=letter, recipient=to, reply_to=None, booking_id=None, host_id=test.user_id)
    return await deliver(work, effect, replace(own, is_public=False), SYSTEM)


def write_sample_reminder(
    work: Work, host: MailHost, event_type: EventType, entry: ReminderEntry, *, language: str, id_: UUID
) -> list[Draft]:
    """Write what each reader would get about a made-up booking, in one language."""
    booking = make_up_sample_booking(event_type, entry, host.zone, language, now=work.now)
    details = BookingDetails(booking, event_type, None)
    meeting = read_meeting(work.runtime, details, (replace(host, locale=language),), cause=SYSTEM)
    page = sample_url(work.runtime)
    shown = replace(
        meeting, manage_url=page, calendar_url=page, booking_url=f"{work.runtime.settings.public_url}/bookings"
    )
    readers = list_recipients(booking, shown.hosts)
    return [write_mail(shown, entry, to, id_, SYSTEM) for to in readers if _is_for(entry, to)]


def sample_url(runtime: Runtime) -> str:
    """Write a link to no booking."""
    return f"{runtime.settings.public_url}/manage/example"


def make_up_sample_booking(
    event_type: EventType, entry: ReminderEntry, zone: str, language: str, *, now: datetime
) -> Booking:
    length, distance = timedelta(minutes=event_type.duration_minutes), timedelta(minutes=entry.minutes)
    starts_at = now + distance if entry.is_reminder else now - distance - length
    starts_at = starts_at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=entry.is_reminder)
    return Booking(
        id=new_id(),
        host_id=event_type.owner_id,
        event_type_id=event_type.id,
        contact_id=None,
        claim_id=new_id(),
        seat_id=None,
        status=Status.CONFIRMED,
        starts_at=starts_at,
        ends_at=starts_at + length,
        invitee_name="Alex Morgan",
        invitee_email="alex@example.com",
        invitee_zone=zone,
        invitee_locale=language,
        notes=None,
        location=event_type.location,
        answers={},
        guests=(),
        payment=None,
        created_at=now,
        updated_at=now,
    )
