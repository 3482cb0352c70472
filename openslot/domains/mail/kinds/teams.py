"""What the hosts of a team's booking are told when others host it now: those who begin, stay or go."""

from uuid import UUID

from msgspec.structs import replace

from openslot.domains.bookings.events import (
    BookingEvent,
    BookingReassigned,
    BookingRequestReassigned,
    BookingRescheduled,
)
from openslot.domains.bookings.words import ListOfNames, format_short
from openslot.domains.mail.letters import (
    KINDS,
    explain_mail,
    find_quote,
    format_title,
    read_meeting,
    write_draft,
    write_people,
    write_what_and_when,
)
from openslot.domains.mail.meetings import MailedMeeting, MailHost, to_host
from openslot.domains.mail.models import Draft, Letter, MailKind, Recipient, RecipientRole, compose
from openslot.domains.mail.operations import find_mail_host
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.actor import Actor
from openslot.platform.core.text import defuse, one_line
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, choose_locale


def list_previous(event: BookingEvent) -> tuple[BookingHost, ...]:
    """List who hosted a booking before, if others host it since this event."""
    changes = BookingReassigned | BookingRequestReassigned | BookingRescheduled
    return event.previous_hosts if isinstance(event, changes) else ()


async def find_former(work: Work, event: BookingEvent) -> tuple[MailHost, ...]:
    """Read those who host a booking no longer, since this event."""
    still = {each.user_id for each in event.hosts}
    gone = [each.user_id for each in list_previous(event) if each.user_id not in still]
    found = [await find_mail_host(work, each, color=event.event_type.color) for each in gone]
    return tuple(each for each in found if each is not None)


def choose_kind(event: BookingEvent, recipient: Recipient) -> MailKind:
    """Choose what somebody is told of: for who hosts it now it is a new booking, for who did before it is over."""
    usual, previous = KINDS[event.type][1], {each.user_id for each in list_previous(event)}
    if recipient.role is not RecipientRole.HOST or not previous:
        return usual
    if recipient.user_id not in {each.user_id for each in event.hosts}:
        return MailKind.HANDOVER
    return usual if recipient.user_id in previous else MailKind.CONFIRMATION


def write_handover(runtime: Runtime, event: BookingEvent, former: MailHost, *, id_: UUID, cause: Actor) -> Draft:
    """Tell somebody who hosts a booking now, and remove it from their calendar."""
    recipient = to_host(former)
    meeting = read_meeting(runtime, event, (former,), cause=cause)
    if isinstance(event, BookingRescheduled):
        # Their entry has the time before.
        before = replace(event.booking, starts_at=event.previous_starts_at, ends_at=event.previous_ends_at)
        meeting = replace(meeting, booking=before, previous_starts_at=None, previous_ends_at=None)
    locale = choose_locale(recipient.locale)
    letter = _write_letter(meeting, event.hosts, recipient, locale)
    return write_draft(meeting, MailKind.HANDOVER, recipient, id_, cause, ours=letter)


def list_names(hosts: tuple[BookingHost, ...]) -> ListOfNames:
    """Name hosts in a sentence; none of their names becomes a link."""
    return ListOfNames(tuple(defuse(one_line(each.name)) for each in hosts))


def _write_letter(
    meeting: MailedMeeting, hosts: tuple[BookingHost, ...], recipient: Recipient, locale: Locale
) -> Letter:
    title = format_title(meeting, recipient)
    return compose(
        Text(
            "Handed over: %(title)s, %(when)s",
            title=title,
            when=format_short(meeting.booking.starts_at, recipient.zone, locale),
        ),
        Text("It is now hosted by %(hosts)s. There is nothing you need to do.", hosts=list_names(hosts)),
        heading=Text("You no longer host this meeting"),
        facts=(*write_what_and_when(meeting, recipient, locale), *write_people(meeting, recipient)),
        quote=find_quote(meeting, recipient),
        footer=explain_mail(meeting, recipient),
    )
