"""Mails about the wait list: confirm your address, a time is free for you, it is not free any more."""

from datetime import UTC, datetime, time
from uuid import UUID

from openslot.domains.bookings.words import format_day, format_hours, format_short, format_time_of_day, format_zone
from openslot.domains.mail import reasons
from openslot.domains.mail.meetings import MailHost
from openslot.domains.mail.models import (
    Draft,
    Fact,
    Letter,
    Link,
    MailAddress,
    MailKind,
    Recipient,
    RecipientRole,
    compose,
)
from openslot.domains.mail.operations import deliver, find_mail_host, leave_unsent
from openslot.domains.wait_list.errors import EntryNotFound
from openslot.domains.wait_list.events import WaitListEvent, WaitListJoined, WaitListOffered, WaitListOfferEnded
from openslot.domains.wait_list.models import EntryState, FoundEntry, Offer, OfferState
from openslot.domains.wait_list.operations import get_wait_list_entry, wait_list_url
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.text import one_line
from openslot.platform.core.work import Outcome, Runtime, Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale, choose_locale


async def ask_to_confirm(work: Work, effect: Effect) -> Outcome:
    """Ask whoever was entered on the list to confirm it; who has done so gets the link again."""
    return await _send(work, effect, effect.event(WaitListJoined), None)


async def send_offer(work: Work, effect: Effect) -> Outcome:
    """Tell somebody that a time is kept for them, unless that is over."""
    return await _send(work, effect, effect.event(WaitListOffered), OfferState.OFFERED)


async def tell_withdrawn(work: Work, effect: Effect) -> Outcome:
    """Tell somebody that the host can't offer a time any more."""
    return await _send(work, effect, effect.event(WaitListOfferEnded), OfferState.WITHDRAWN)


async def _send(work: Work, effect: Effect, event: WaitListEvent, state: OfferState | None) -> Outcome:
    try:
        found = await get_wait_list_entry(work, event.entry_id)
    except EntryNotFound:
        return await leave_unsent(work, effect, reasons.NOT_LISTED)
    offered = _find_offer(found, getattr(event, "offer_id", None), state)
    if state is not None and (offered is None or (state is OfferState.OFFERED and not offered.is_open(now=work.now))):
        return await leave_unsent(work, effect, reasons.OFFER_ENDED)
    host = await find_mail_host(work, event.host_id, color=found.event_type.color)
    if host is None:
        return await leave_unsent(work, effect, reasons.NOT_LISTED)
    entry = found.entry
    to = Recipient(role=RecipientRole.INVITEE, email=entry.email, name=entry.name, zone=entry.zone, locale=entry.locale)
    locale = choose_locale(to.locale, host.locale)
    draft = Draft(
        id=effect.id,
        kind=MailKind.WAIT_LIST,
        letter=_write(work.runtime, found, offered, host, locale),
        recipient=to,
        brand=host.brand,
        locale=locale,
        host_id=event.host_id,
        reply_to=MailAddress(host.email, host.name),
        # Anyone may enter somebody's address; an offer goes to those alone who have confirmed theirs.
        is_public=state is None,
        is_reserved=isinstance(event, WaitListJoined) and event.is_reserved,
    )
    return await deliver(work, effect, draft, effect.actor if state is None else SYSTEM)


def _find_offer(found: FoundEntry, offer_id: UUID | None, state: OfferState | None) -> Offer | None:
    offered = found.offer
    return offered if offered is not None and (offered.id, offered.state) == (offer_id, state) else None


def _write(runtime: Runtime, found: FoundEntry, offered: Offer | None, host: MailHost, locale: Locale) -> Letter:
    url = wait_list_url(runtime, found.entry.id)
    if offered is None:
        return _write_joined(found, host, locale, url)
    if offered.state is OfferState.OFFERED:
        return _write_offer(found, offered, host, locale, url)
    return compose(
        Text("Not free any more: %(title)s, %(when)s", title=_title(found, host), when=_short(found, offered, locale)),
        Text("%(host)s can't offer this time any more.", host=one_line(host.name)),
        Text("You stay on the wait list and get an email when another time becomes free."),
        heading=Text("This time is not free any more"),
        facts=_write_facts(found, offered, host, locale),
        button=Link(label=Text("Show or leave the wait list"), url=url),
        footer=_footer(found, host),
    )


def _write_joined(found: FoundEntry, host: MailHost, locale: Locale, url: str) -> Letter:
    facts, title = _write_facts(found, None, host, locale), _title(found, host)
    day = _write_day(found, locale)
    if found.entry.state is not EntryState.UNPROVEN:
        return compose(
            Text("On the wait list: %(title)s, %(day)s", title=title, day=day),
            Text("You get an email when a time becomes free. It is then kept for you for a while."),
            heading=Text("You are on the wait list"),
            facts=facts,
            button=Link(label=Text("Show or leave the wait list"), url=url),
            footer=_footer(found, host),
        )
    return compose(
        Text("Confirm your place on the wait list: %(title)s, %(day)s", title=title, day=day),
        Text("All times are taken. Confirm your email address, and you get an email when a time becomes free."),
        Text("If you don't confirm it within 24 hours, you are not on the wait list."),
        heading=Text("Confirm your place on the wait list"),
        facts=facts,
        button=Link(label=Text("Confirm"), url=url),
        footer=_footer(found, host),
    )


def _write_offer(found: FoundEntry, offered: Offer, host: MailHost, locale: Locale, url: str) -> Letter:
    zone = found.entry.zone
    until = Text(
        "%(day)s, %(time)s",
        day=format_day(offered.expires_at, zone, locale),
        time=format_time_of_day(offered.expires_at, zone, locale),
    )
    return compose(
        Text("A time is free: %(title)s, %(when)s", title=_title(found, host), when=_short(found, offered, locale)),
        Text("This time is kept for you until %(when)s. After that it is offered to the next person.", when=until),
        Text("If it does not suit you, decline it. You stay on the wait list for other times of that day."),
        heading=Text("A time is free for you"),
        facts=_write_facts(found, offered, host, locale),
        button=Link(label=Text("Book or decline"), url=url),
        actions=(Link(label=Text("Leave the wait list"), url=url),),
        footer=_footer(found, host),
    )


def _title(found: FoundEntry, host: MailHost) -> Text:
    return Text("%(meeting)s with %(name)s", meeting=one_line(found.event_type.name), name=one_line(host.name))


def _short(found: FoundEntry, offered: Offer, locale: Locale) -> str:
    return format_short(offered.starts_at, found.entry.zone, locale)


def _write_day(found: FoundEntry, locale: Locale) -> str:
    return format_day(datetime.combine(found.entry.day, time(12), UTC), "UTC", locale)


def _write_facts(found: FoundEntry, offered: Offer | None, host: MailHost, locale: Locale) -> tuple[Fact, ...]:
    zone, starts_at = found.entry.zone, found.entry.starts_at
    lines: tuple[str, ...] = (_write_day(found, locale),)
    if offered is not None:
        day = format_day(offered.starts_at, zone, locale)
        hours = format_hours(offered.starts_at, offered.ends_at, zone, locale)
        lines = (day, hours, format_zone(offered.starts_at, zone, locale))
    elif starts_at is not None:
        lines = (*lines, format_time_of_day(starts_at, zone, locale), format_zone(starts_at, zone, locale))
    return (
        Fact(label=Text("What"), lines=(one_line(found.event_type.name),)),
        Fact(label=Text("When"), lines=lines),
        Fact(label=Text("Host"), lines=(one_line(host.name),)),
    )


def _footer(found: FoundEntry, host: MailHost) -> Text:
    return Text(
        "You received this email because %(email)s was entered on the wait list of %(host)s. "
        "If that wasn't you, you can ignore it.",
        email=found.entry.email,
        host=one_line(host.name),
    )
