"""What each mail about a meeting says, to each of those who take part, ready to be sent or as a file."""

from collections.abc import Callable
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.bookings.errors import BookingNotFound
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingEvent,
    BookingInvitationFailed,
    BookingLinkAdded,
    BookingReassigned,
    BookingRequestReassigned,
    BookingRescheduled,
)
from openslot.domains.bookings.links import booking_url, calendar_url, manage_url
from openslot.domains.bookings.models import AnswerValue, BookingDetails, BookingRef, Status
from openslot.domains.bookings.operations import get_booking
from openslot.domains.bookings.words import format_day, format_hours, format_short, format_zone, list_answers
from openslot.domains.event_types.models import LocationKind
from openslot.domains.mail import operations
from openslot.domains.mail.calendar_entry import Attendee, CalendarEntry, google_url, outlook_url, write_calendar
from openslot.domains.mail.meetings import (
    InvitedBy,
    MailedMeeting,
    MailHost,
    find_join,
    find_location,
    format_where,
    list_recipients,
)
from openslot.domains.mail.models import (
    Attachment,
    Draft,
    Fact,
    Letter,
    Link,
    MailAddress,
    MailKind,
    Method,
    Recipient,
    RecipientRole,
)
from openslot.domains.mail.rendering import say
from openslot.domains.payments.words import describe_cancellation, describe_money
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.events import Effect
from openslot.platform.core.text import find_name, one_line, paragraph
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text, recall
from openslot.platform.i18n.languages import Locale, choose_locale
from openslot.platform.i18n.localization import localize

SUBJECTS: dict[MailKind, Callable[..., Text]] = {
    MailKind.CONFIRMATION: lambda **it: Text("Confirmed: %(title)s, %(when)s", **it),
    MailKind.RESCHEDULE: lambda **it: Text("Rescheduled: %(title)s, %(when)s", **it),
    MailKind.CANCELLATION: lambda **it: Text("Cancelled: %(title)s, %(when)s", **it),
    MailKind.REMINDER: lambda **it: Text("Reminder: %(title)s, %(when)s", **it),
    MailKind.LINK: lambda **it: Text("Link to join: %(title)s, %(when)s", **it),
    MailKind.HOSTS: lambda **it: Text("New host: %(title)s, %(when)s", **it),
}
HEADINGS = {
    MailKind.CONFIRMATION: Text("Your meeting is confirmed"),
    MailKind.RESCHEDULE: Text("Your meeting has a new time"),
    MailKind.CANCELLATION: Text("Your meeting is cancelled"),
    MailKind.REMINDER: Text("Your meeting is coming up"),
    MailKind.LINK: Text("The link to your meeting is here"),
    MailKind.HOSTS: Text("Your meeting has a new host"),
}
HOST_HEADINGS = {**HEADINGS, MailKind.CONFIRMATION: Text("You have a new booking")}
GUEST_HEADINGS = {**HEADINGS, MailKind.CONFIRMATION: Text("You are invited to a meeting")}
BY_ROLE = {RecipientRole.INVITEE: HEADINGS, RecipientRole.GUEST: GUEST_HEADINGS, RecipientRole.HOST: HOST_HEADINGS}


def format_title(meeting: MailedMeeting, recipient: Recipient) -> Text:
    """Write the title for the reader's calendar: with whom the meeting is."""
    is_host = recipient.role is RecipientRole.HOST
    other = one_line(meeting.invitee_name) if is_host else meeting.host_names
    return Text("%(meeting)s with %(name)s", meeting=one_line(meeting.event_type.name), name=other)


def format_description(meeting: MailedMeeting, recipient: Recipient) -> Text | str:
    if recipient.role is RecipientRole.INVITEE:
        return Text("Reschedule or cancel: %(link)s", link=meeting.manage_url)
    if recipient.role is RecipientRole.HOST and meeting.booking.notes:
        return paragraph(meeting.booking.notes)
    return ""


def write_letter(
    meeting: MailedMeeting, kind: MailKind, recipient: Recipient, entry: CalendarEntry, locale: Locale
) -> Letter:
    title = format_title(meeting, recipient)
    when = format_short(meeting.booking.starts_at, recipient.zone, locale)
    is_on = kind is not MailKind.CANCELLATION
    join = find_join(meeting) if is_on else None
    has_entry = is_on and meeting.has_entry_for(recipient)
    return Letter(
        subject=SUBJECTS[kind](title=title, when=when),
        heading=BY_ROLE[recipient.role][kind],
        paragraphs=_write_paragraphs(meeting, kind, recipient),
        facts=_write_facts(meeting, recipient, locale),
        quote=find_quote(meeting, recipient),
        button=join or _find_button(meeting, recipient, is_on=is_on),
        actions=_write_actions(meeting, recipient, join) if is_on else (),
        links_label=Text("Add to your calendar"),
        links=_write_links(meeting, recipient, entry) if has_entry and recipient.role is not RecipientRole.HOST else (),
        footer=(explain_mail(meeting, recipient),),
    )


def _write_paragraphs(meeting: MailedMeeting, kind: MailKind, recipient: Recipient) -> tuple[str, ...]:
    names = {"host": meeting.host_names, "invitee": meeting.invitee_name}
    inviting = tell_who_invites(meeting, kind, recipient)
    if recipient.role is RecipientRole.GUEST and kind is MailKind.CONFIRMATION:
        told = Text("%(invitee)s has booked a meeting with %(host)s and would like you to join.", **names)
        return told, *inviting
    if recipient.role is RecipientRole.HOST and kind is MailKind.CONFIRMATION:
        return (Text("%(invitee)s has booked a meeting with you.", **names),)
    if kind is MailKind.HOSTS:
        return (Text("It is now hosted by %(host)s. Its time stays the same.", **names),)
    if kind is MailKind.CANCELLATION:
        told = Text("The meeting will not take place. There is nothing you need to do.")
        if meeting.payment is None or recipient.role is RecipientRole.GUEST:
            return (told,)
        return told, describe_cancellation(meeting.payment, meeting.booking)
    return inviting


def tell_who_invites(meeting: MailedMeeting, kind: MailKind, recipient: Recipient) -> tuple[str, ...]:
    host = one_line(meeting.host.name)
    if recipient.role is RecipientRole.HOST or kind is MailKind.REMINDER:
        return ()
    if meeting.invited_by is InvitedBy.CALENDAR:
        return (Text("The entry for your calendar comes from the calendar of %(host)s, in another email.", host=host),)
    if meeting.invited_by is InvitedBy.MAIL_INSTEAD:
        return (
            Text(
                "The entry for your calendar comes with this email, because the calendar of %(host)s could not send "
                "it. If your calendar has another entry for this meeting, delete that one.",
                host=host,
            ),
        )
    return ()


def write_what_and_when(meeting: MailedMeeting, recipient: Recipient, locale: Locale) -> tuple[Fact, Fact]:
    booking = meeting.booking
    when = Fact(
        label=Text("When"),
        lines=(
            format_day(booking.starts_at, recipient.zone, locale),
            format_hours(booking.starts_at, booking.ends_at, recipient.zone, locale),
            format_zone(booking.starts_at, recipient.zone, locale),
        ),
    )
    return Fact(label=Text("What"), lines=(one_line(meeting.event_type.name),)), when


def _write_facts(meeting: MailedMeeting, recipient: Recipient, locale: Locale) -> tuple[Fact, ...]:
    booking = meeting.booking
    words = format_where(booking.location, recipient, one_line(meeting.host.name))
    is_entered = not isinstance(words, Text)
    url = words if booking.location.kind is LocationKind.VIDEO_LINK and is_entered else None
    where = [Fact(label=Text("Where"), lines=(words,), url=url, is_verbatim=is_entered)] if words else []
    return (
        *write_what_and_when(meeting, recipient, locale),
        *_write_previous(meeting, recipient, locale),
        *where,
        *_write_payment(meeting, recipient),
        *write_people(meeting, recipient),
    )


def _write_payment(meeting: MailedMeeting, recipient: Recipient) -> list[Fact]:
    payment = meeting.payment
    if payment is None or recipient.role is RecipientRole.GUEST:
        return []
    return [Fact(label=Text("Payment"), lines=(describe_money(payment),), url=payment.receipt_url)]


def _write_previous(meeting: MailedMeeting, recipient: Recipient, locale: Locale) -> list[Fact]:
    if meeting.previous_starts_at is None or meeting.previous_ends_at is None:
        return []
    hours = format_hours(meeting.previous_starts_at, meeting.previous_ends_at, recipient.zone, locale)
    return [
        Fact(label=Text("Previously"), lines=(format_day(meeting.previous_starts_at, recipient.zone, locale), hours))
    ]


def write_people(meeting: MailedMeeting, recipient: Recipient) -> list[Fact]:
    """Return who takes part; what an invitee has typed goes to the host alone, so that it can't be mailed to others."""
    booking = meeting.booking
    if recipient.role is not RecipientRole.HOST:
        return [_write_hosts(meeting)]
    answers = [
        Fact(label=one_line(label), lines=tuple(_format_answer(answer)), is_verbatim=True)
        for label, answer in list_answers(booking, meeting.event_type)
    ]
    guests = [Fact(label=Text("Guests"), lines=booking.guests)] if booking.guests else []
    invitee = Fact(label=Text("Invitee"), lines=(one_line(booking.invitee_name), booking.invitee_email))
    return [invitee, *guests, *([_write_hosts(meeting)] if len(meeting.hosts) > 1 else ()), *answers]


def _write_hosts(meeting: MailedMeeting) -> Fact:
    label = Text("Host") if len(meeting.hosts) == 1 else Text("Hosts")
    return Fact(label=label, lines=tuple(one_line(each.name) for each in meeting.hosts))


def _format_answer(answer: AnswerValue) -> list[str]:
    if isinstance(answer, bool):
        return [Text("Yes") if answer else Text("No")]
    return paragraph(answer).split("\n") if isinstance(answer, str) else [one_line(each) for each in answer]


def find_quote(meeting: MailedMeeting, recipient: Recipient) -> str | None:
    """Find the text to quote: the host's text goes to everyone, an invitee's only to the host."""
    is_for_host = recipient.role is RecipientRole.HOST
    if meeting.reason:
        return recall(paragraph(meeting.reason)) if meeting.is_reason_of_host or is_for_host else None
    notes = None if meeting.previous_starts_at else meeting.booking.notes
    return paragraph(notes) if notes and is_for_host else None


def _find_button(meeting: MailedMeeting, recipient: Recipient, *, is_on: bool) -> Link | None:
    if recipient.role is RecipientRole.HOST:
        return Link(label=Text("View the booking"), url=meeting.booking_url)
    # The file's address contains the manage link, and guests must not be able to change the meeting.
    if not is_on or recipient.role is not RecipientRole.INVITEE:
        return None
    if meeting.has_entry_for(recipient):
        return Link(label=Text("Add to calendar"), url=meeting.calendar_url)
    return Link(label=Text("View the booking"), url=meeting.manage_url)


def _write_actions(meeting: MailedMeeting, recipient: Recipient, join: Link | None) -> tuple[Link, ...]:
    if recipient.role is RecipientRole.INVITEE:
        reschedule = Link(label=Text("Reschedule"), url=f"{meeting.manage_url}/reschedule")
        cancel = Link(label=Text("Cancel the meeting"), url=f"{meeting.manage_url}/cancel")
        return (cancel,) if meeting.event_type.requires_confirmation else (reschedule, cancel)
    is_host = recipient.role is RecipientRole.HOST
    return (Link(label=Text("View the booking"), url=meeting.booking_url),) if is_host and join else ()


def _write_links(meeting: MailedMeeting, recipient: Recipient, entry: CalendarEntry) -> tuple[Link, ...]:
    file = Link(label=Text("Calendar file"), url=meeting.calendar_url)
    online = (Link(label="Google", url=google_url(entry)), Link(label="Outlook", url=outlook_url(entry)))
    return (*online, file) if recipient.role is RecipientRole.INVITEE else online


def explain_mail(meeting: MailedMeeting, recipient: Recipient) -> Text:
    host = meeting.host_names
    if recipient.role is RecipientRole.HOST:
        return Text("You received this email because people can book meetings with you.")
    if recipient.role is RecipientRole.GUEST:
        return Text(
            "You received this email because %(invitee)s added %(email)s as a guest to a meeting with %(host)s. "
            "If you don't know them, you can ignore it.",
            invitee=meeting.invitee_name,
            email=recipient.email,
            host=host,
        )
    return Text(
        "You received this email because a meeting with %(host)s was booked for %(email)s. "
        "If that wasn't you, you can ignore it.",
        host=host,
        email=recipient.email,
    )


KINDS: dict[str, tuple[type[BookingEvent], MailKind]] = {
    BookingCreated.type: (BookingCreated, MailKind.CONFIRMATION),
    BookingRescheduled.type: (BookingRescheduled, MailKind.RESCHEDULE),
    BookingCancelled.type: (BookingCancelled, MailKind.CANCELLATION),
    BookingLinkAdded.type: (BookingLinkAdded, MailKind.LINK),
    BookingReassigned.type: (BookingReassigned, MailKind.HOSTS),
    BookingInvitationFailed.type: (BookingInvitationFailed, MailKind.CONFIRMATION),
}


def read_event(effect: Effect) -> BookingEvent:
    return effect.event(KINDS[effect.event_type][0])


def read_meeting(
    runtime: Runtime, event: BookingEvent | BookingDetails, hosts: tuple[MailHost, ...], *, cause: Actor
) -> MailedMeeting:
    """Read a meeting as it was when something happened to it, or as it is."""
    booking = event.booking
    meeting = MailedMeeting(
        booking=booking,
        event_type=event.event_type,
        hosts=hosts,
        manage_url=manage_url(runtime, booking.id),
        calendar_url=calendar_url(runtime, booking.id),
        booking_url=booking_url(runtime, booking.id),
        is_reason_of_host=cause.kind is not ActorKind.PUBLIC,
        dates=event.series if isinstance(event, BookingEvent) else (),
        skipped=event.skipped if isinstance(event, BookingCreated) else (),
        shows_addresses=hosts[0].page.is_new(now=runtime.clock()),
    )
    if isinstance(event, BookingRescheduled):
        return replace(
            meeting,
            previous_starts_at=event.previous_starts_at,
            previous_ends_at=event.previous_ends_at,
            reason=event.reason,
        )
    if isinstance(event, BookingReassigned | BookingRequestReassigned):
        return replace(meeting, reason=event.reason, is_reason_of_host=False)
    if isinstance(event, BookingInvitationFailed):
        return replace(meeting, invited_by=InvitedBy.MAIL_INSTEAD)
    return replace(meeting, reason=booking.cancel_reason) if isinstance(event, BookingCancelled) else meeting


def write_draft(
    meeting: MailedMeeting, kind: MailKind, recipient: Recipient, id_: UUID, cause: Actor, *, ours: Letter | None = None
) -> Draft:
    """Write what one person is told of a meeting: this letter, or the usual one with its calendar entry."""
    locale = choose_locale(recipient.locale, meeting.host.locale)
    entry = write_entry(meeting, recipient, locale)
    method = Method.CANCEL if kind in {MailKind.CANCELLATION, MailKind.HANDOVER} else Method.REQUEST
    is_host = recipient.role is RecipientRole.HOST
    invitee = MailAddress(meeting.booking.invitee_email, meeting.booking.invitee_name)
    calendar = None
    # Reminders and follow-ups change nothing in a calendar.
    if kind not in {MailKind.REMINDER, MailKind.FOLLOW_UP} and meeting.has_entry_for(recipient):
        calendar = Attachment(method=method, content=write_calendar(entry, method))
    return Draft(
        id=id_,
        kind=kind,
        letter=ours or write_letter(meeting, kind, recipient, entry, locale),
        recipient=recipient,
        brand=meeting.host.brand,
        locale=locale,
        host_id=meeting.booking.host_id,
        booking_id=meeting.booking.id,
        reply_to=invitee if is_host else MailAddress(meeting.host.email, meeting.host.name),
        calendar=calendar,
        # A link, and an invitation that is sent later, follow what anyone may have booked.
        is_public=not is_host
        and (cause.kind is ActorKind.PUBLIC or kind is MailKind.LINK or meeting.invited_by is InvitedBy.MAIL_INSTEAD),
    )


async def write_calendar_file(work: Work, ref: BookingRef) -> bytes:
    """Write a booking as its invitee's calendar keeps it."""
    details = await get_booking(work, ref)
    _, entry = await describe_meeting(work, details)
    return write_calendar(entry, Method.CANCEL if details.booking.status is Status.CANCELLED else None)


async def describe_meeting(work: Work, details: BookingDetails) -> tuple[MailedMeeting, CalendarEntry]:
    """Read what belongs to a booking, and describe it as its invitee's calendar does."""
    hosts = await operations.find_hosts(work, details)
    if not hosts:
        raise BookingNotFound
    meeting = read_meeting(work.runtime, details, hosts, cause=work.actor)
    invitee = list_recipients(details.booking, hosts)[0]
    return meeting, write_entry(meeting, invitee, choose_locale(invitee.locale, hosts[0].locale))


def write_entry(meeting: MailedMeeting, recipient: Recipient, locale: Locale) -> CalendarEntry:
    """Write the meeting as a calendar entry, the same for everyone but for what only some may see."""
    booking = meeting.booking
    organizer, *others = (MailAddress(each.email, each.name) for each in meeting.hosts)
    invitee = Attendee(address=MailAddress(booking.invitee_email, find_name(booking.invitee_name) or ""))
    guests = (Attendee(address=MailAddress(guest), is_asked=True) for guest in booking.guests)
    return CalendarEntry(
        uid=booking.uid,
        sequence=booking.sequence,
        starts_at=booking.starts_at,
        ends_at=booking.ends_at,
        summary=say(format_title(meeting, recipient), locale),
        description=str(localize(format_description(meeting, recipient), locale)),
        location=one_line(find_location(booking.location, recipient).value, max_=500),
        url=meeting.manage_url if recipient.role is RecipientRole.INVITEE else None,
        organizer=organizer,
        attendees=(
            Attendee(address=organizer, is_chair=True),
            *(Attendee(address=each) for each in others),
            invitee,
            *guests,
        ),
        created_at=booking.created_at,
        updated_at=booking.updated_at,
    )
