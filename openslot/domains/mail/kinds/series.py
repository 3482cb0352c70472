"""The one mail that tells of all bookings of a series: every date, and one calendar file with all of them."""

from collections.abc import Iterator
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.bookings.words import format_day, format_hours, format_short, format_zone_name
from openslot.domains.mail.calendar_entry import write_entries
from openslot.domains.mail.letters import (
    explain_mail,
    find_quote,
    format_title,
    tell_who_invites,
    write_draft,
    write_entry,
    write_people,
)
from openslot.domains.mail.meetings import MailedMeeting, format_where
from openslot.domains.mail.models import (
    Attachment,
    Draft,
    Fact,
    Letter,
    Link,
    MailKind,
    Method,
    Recipient,
    RecipientRole,
)
from openslot.platform.core.actor import Actor
from openslot.platform.core.text import one_line
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, choose_locale


def write_series_draft(meeting: MailedMeeting, kind: MailKind, recipient: Recipient, id_: UUID, cause: Actor) -> Draft:
    """Write what one person is told of all dates of a series."""
    draft = write_draft(meeting, kind, recipient, id_, cause)
    locale = choose_locale(recipient.locale, meeting.host.locale)
    has_entries = meeting.has_entry_for(recipient)
    content = _write_calendar(meeting, recipient, locale, is_on=kind is not MailKind.CANCELLATION)
    return replace(
        draft,
        letter=_write_letter(meeting, kind, recipient, locale),
        calendar=Attachment(method=Method.PUBLISH, content=content) if has_entries else None,
    )


def _write_calendar(meeting: MailedMeeting, recipient: Recipient, locale: Locale, *, is_on: bool) -> bytes:
    """Write each booking as an entry with its own UID; what is published has no attendees (RFC 5546, 3.2.1)."""
    entries = []
    for date in meeting.dates:
        booking = replace(
            meeting.booking,
            id=date.id,
            starts_at=date.starts_at,
            ends_at=date.ends_at,
            location=date.location,
            sequence=date.sequence,
        )
        entry = write_entry(replace(meeting, booking=booking), recipient, locale)
        entries.append(replace(entry, attendees=(), is_cancelled=not is_on))
    return write_entries(entries, method=Method.PUBLISH)


def _write_letter(meeting: MailedMeeting, kind: MailKind, recipient: Recipient, locale: Locale) -> Letter:
    is_on, is_host = kind is not MailKind.CANCELLATION, recipient.role is RecipientRole.HOST
    count = len(meeting.dates)
    title = format_title(meeting, recipient)
    when = format_short(meeting.dates[0].starts_at, recipient.zone, locale)
    subject = (
        Text("Confirmed: %(title)s, %(count)s dates from %(when)s", title=title, count=count, when=when)
        if is_on
        else Text("Cancelled: %(title)s, %(count)s dates from %(when)s", title=title, count=count, when=when)
    )
    heading = Text("Your meetings are confirmed") if is_on else Text("Your meetings are cancelled")
    url = meeting.booking_url if is_host else meeting.manage_url
    is_shown = is_host or (is_on and recipient.role is RecipientRole.INVITEE)
    return Letter(
        subject=subject,
        heading=Text("You have new bookings") if is_on and is_host else heading,
        paragraphs=tuple(_write_paragraphs(meeting, kind, recipient)),
        facts=(
            Fact(label=Text("What"), lines=(one_line(meeting.event_type.name),)),
            *_write_when(meeting, recipient, locale),
            *(_write_where(meeting, recipient) if is_on else ()),
            *write_people(meeting, recipient),
        ),
        quote=find_quote(meeting, recipient),
        button=Link(label=Text("View the bookings"), url=url) if is_shown else None,
        footer=(explain_mail(meeting, recipient),),
    )


def _write_paragraphs(meeting: MailedMeeting, kind: MailKind, recipient: Recipient) -> Iterator[str]:
    names = {"host": meeting.host_names, "invitee": meeting.invitee_name, "count": len(meeting.dates)}
    if kind is MailKind.CANCELLATION:
        yield Text("None of these meetings will take place. There is nothing you need to do.")
        return
    if recipient.role is RecipientRole.HOST:
        yield Text("%(invitee)s has booked %(count)s meetings with you, one a week.", **names)
    elif recipient.role is RecipientRole.GUEST:
        yield Text(
            "%(invitee)s has booked %(count)s meetings with %(host)s, one a week, and would like you to join.", **names
        )
    else:
        yield Text("Each date is a booking of its own: you can reschedule or cancel one of them, or cancel all.")
    yield from tell_who_invites(meeting, kind, recipient)


def _write_when(meeting: MailedMeeting, recipient: Recipient, locale: Locale) -> Iterator[Fact]:
    zone = recipient.zone
    dates = (
        Text(
            "%(day)s, %(time)s",
            day=format_day(each.starts_at, zone, locale),
            time=format_hours(each.starts_at, each.ends_at, zone, locale),
        )
        for each in meeting.dates
    )
    yield Fact(label=Text("When"), lines=(*dates, format_zone_name(zone, locale)))
    if meeting.skipped:
        lines = tuple(format_short(each, zone, locale) for each in meeting.skipped)
        yield Fact(label=Text("Not free and not booked"), lines=lines)


def _write_where(meeting: MailedMeeting, recipient: Recipient) -> Iterator[Fact]:
    """Tell where all of them take place, or that each has a link of its own."""
    locations = {format_where(each.location, recipient, one_line(meeting.host.name)) for each in meeting.dates}
    if len(locations) > 1:
        yield Fact(label=Text("Where"), lines=(Text("Video calls. Each date has a link of its own, on its page."),))
    elif location := locations.pop():
        yield Fact(label=Text("Where"), lines=(location,), is_verbatim=not isinstance(location, Text))
