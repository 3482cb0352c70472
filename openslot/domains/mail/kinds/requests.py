"""Mails about requests: hosts are asked, and the invitee learns that it was sent, declined or not answered."""

from datetime import datetime
from uuid import UUID

from openslot.domains.bookings.events import (
    BookingDeclined,
    BookingEvent,
    BookingLapsed,
    BookingRequested,
    BookingRequestReassigned,
)
from openslot.domains.bookings.links import manage_url, request_url
from openslot.domains.bookings.words import format_day, format_short, format_time_of_day
from openslot.domains.mail import reasons
from openslot.domains.mail.kinds.teams import find_former, list_names
from openslot.domains.mail.letters import (
    explain_mail,
    find_quote,
    format_title,
    read_meeting,
    write_people,
    write_what_and_when,
)
from openslot.domains.mail.meetings import MailedMeeting, is_wanted, list_recipients, to_host
from openslot.domains.mail.models import Draft, Fact, Letter, Link, MailAddress, MailKind, Recipient, compose
from openslot.domains.mail.operations import deliver, find_hosts, leave_unsent
from openslot.domains.teams.models import BookingHost
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line, paragraph
from openslot.platform.core.work import Expanded, Outcome, Runtime, Target, Work
from openslot.platform.i18n import Text, recall
from openslot.platform.i18n.languages import Locale, choose_locale

ASK_HOST = "mail.ask_host"
TO_INVITEE: dict[str, tuple[type[BookingEvent], MailKind]] = {
    BookingRequested.type: (BookingRequested, MailKind.REQUEST),
    BookingDeclined.type: (BookingDeclined, MailKind.DECLINE),
    BookingLapsed.type: (BookingLapsed, MailKind.LAPSE),
}


async def ask_host(work: Work, effect: Effect) -> Outcome:
    """Ask the host to confirm or decline a request, whichever mails they have switched off: it waits for them.

    Of a team each host is asked, in the lane of what they are told of the booking later, and who hosts it no longer is
    told so.
    """
    event = _read_asked(effect)
    former = await find_former(work, event)
    if event.hosts and effect.target is None:
        lane = f"mail:booking:{event.booking.id}"
        told = (*_list_asked(event), *(each.id for each in former))
        return Expanded(tuple(Target(reaction=ASK_HOST, target=str(each), lane=f"{lane}@{each}") for each in told))
    hosts = await find_hosts(work, event)
    host = next((each for each in (*hosts, *former) if effect.target in {None, str(each.id)}), None)
    if host is None or event.lapses_at <= work.now:
        return await leave_unsent(work, effect, reasons.LAPSED if host else reasons.NO_HOST)
    to, is_former = to_host(host), host in former
    kind = MailKind.HANDOVER if is_former else MailKind.REQUEST
    if not is_wanted([host], to, kind):
        return await leave_unsent(work, effect, reasons.UNWANTED)
    locale = choose_locale(to.locale)
    meeting = read_meeting(work.runtime, event, (host,) if is_former else hosts, cause=effect.actor)
    draft = Draft(
        id=effect.id,
        kind=kind,
        letter=_write_to_former(meeting, event.hosts, to, locale)
        if is_former
        else _write_to_host(work.runtime, meeting, event.lapses_at, to, locale),
        recipient=to,
        brand=host.brand,
        locale=locale,
        host_id=event.booking.host_id,
        booking_id=event.booking.id,
        reply_to=MailAddress(event.booking.invitee_email, event.booking.invitee_name),
    )
    return await deliver(work, effect, draft, effect.actor)


def _read_asked(effect: Effect) -> BookingRequested:
    is_reassigned = effect.event_type == BookingRequestReassigned.type
    return effect.event(BookingRequestReassigned if is_reassigned else BookingRequested)


def _list_asked(event: BookingRequested) -> list[UUID]:
    """List the hosts of a team who are asked: all, or those whom a request was handed over to."""
    before = event.previous_hosts if isinstance(event, BookingRequestReassigned) else ()
    known = {each.user_id for each in before}
    return [each.user_id for each in event.hosts if each.user_id not in known]


async def tell_requester(work: Work, effect: Effect) -> Outcome:
    """Tell the invitee that their request was sent, was declined, or was not answered in time."""
    type_, kind = TO_INVITEE[effect.event_type]
    event = effect.event(type_)
    hosts = await find_hosts(work, event)
    if not hosts:
        return await leave_unsent(work, effect, reasons.NO_HOST)
    host, invitee = hosts[0], list_recipients(event.booking, hosts)[0]
    locale = choose_locale(invitee.locale, host.locale)
    meeting = read_meeting(work.runtime, event, hosts, cause=effect.actor)
    draft = Draft(
        id=effect.id,
        kind=kind,
        letter=_write_to_invitee(work.runtime, meeting, event, invitee, locale),
        recipient=invitee,
        brand=host.brand,
        locale=locale,
        host_id=event.booking.host_id,
        booking_id=event.booking.id,
        reply_to=MailAddress(host.email, host.name),
        # Anyone may have asked in somebody's name, and what lapses follows from that; only the host declines.
        is_public=kind is not MailKind.DECLINE,
        # An answer was promised.
        is_reserved=kind is MailKind.LAPSE,
    )
    return await deliver(work, effect, draft, SYSTEM if kind is MailKind.LAPSE else effect.actor)


def _write_to_host(
    runtime: Runtime, meeting: MailedMeeting, lapses_at: datetime, to: Recipient, locale: Locale
) -> Letter:
    booking = meeting.booking
    title = Text("%(meeting)s with %(name)s", meeting=one_line(meeting.event_type.name), name=meeting.invitee_name)
    until = Text(
        "%(day)s, %(time)s",
        day=format_day(lapses_at, to.zone, locale),
        time=format_time_of_day(lapses_at, to.zone, locale),
    )
    return compose(
        Text("Request: %(title)s, %(when)s", title=title, when=format_short(booking.starts_at, to.zone, locale)),
        Text("%(invitee)s asks for this time. It is kept for them until you answer.", invitee=meeting.invitee_name),
        Text("Answer until %(when)s. After that the request lapses and the time is free again.", when=until),
        heading=Text("Somebody requests a time with you"),
        facts=_write_facts(meeting, to, locale),
        quote=paragraph(booking.notes) if booking.notes else None,
        button=Link(label=Text("Confirm or decline"), url=request_url(runtime, booking.id)),
        footer=Text("You received this email because people can book meetings with you."),
    )


def _write_to_former(meeting: MailedMeeting, hosts: tuple[BookingHost, ...], to: Recipient, locale: Locale) -> Letter:
    when = format_short(meeting.booking.starts_at, to.zone, locale)
    return compose(
        Text("Request handed over: %(title)s, %(when)s", title=format_title(meeting, to), when=when),
        Text(
            "If it is confirmed, it will be hosted by %(hosts)s. There is nothing you need to do.",
            hosts=list_names(hosts),
        ),
        heading=Text("You no longer need to answer this request"),
        facts=_write_facts(meeting, to, locale),
        quote=find_quote(meeting, to),
        footer=explain_mail(meeting, to),
    )


def _write_to_invitee(
    runtime: Runtime, meeting: MailedMeeting, event: BookingEvent, to: Recipient, locale: Locale
) -> Letter:
    host = meeting.host_names
    title = Text("%(meeting)s with %(name)s", meeting=one_line(meeting.event_type.name), name=host)
    when = format_short(meeting.booking.starts_at, to.zone, locale)
    facts = _write_facts(meeting, to, locale)
    footer = Text(
        "You received this email because a meeting with %(host)s was requested for %(email)s. "
        "If that wasn't you, you can ignore it.",
        host=host,
        email=to.email,
    )
    status = Link(label=Text("Show the request"), url=manage_url(runtime, meeting.booking.id))
    if isinstance(event, BookingRequested):
        return compose(
            Text("Request sent: %(title)s, %(when)s", title=title, when=when),
            Text("The meeting is not confirmed yet. The time is kept for you until %(host)s answers.", host=host),
            Text("You get another email when the request is confirmed or declined, or if nobody answers in time."),
            heading=Text("Your request was sent"),
            facts=facts,
            button=status,
            footer=footer,
        )
    if isinstance(event, BookingDeclined):
        return compose(
            Text("Declined: %(title)s, %(when)s", title=title, when=when),
            Text("%(host)s can't take this time. The meeting will not take place.", host=host),
            heading=Text("Your request was declined"),
            facts=facts,
            quote=recall(paragraph(event.reason)) if event.reason else None,
            footer=footer,
        )
    return compose(
        Text("Not answered: %(title)s, %(when)s", title=title, when=when),
        Text("%(host)s has not answered in time. The meeting will not take place.", host=host),
        heading=Text("Your request was not answered"),
        facts=facts,
        footer=footer,
    )


def _write_facts(meeting: MailedMeeting, to: Recipient, locale: Locale) -> tuple[Fact, ...]:
    """Write what, when and with whom; where it is, is told when it is confirmed."""
    return *write_what_and_when(meeting, to, locale), *write_people(meeting, to)
