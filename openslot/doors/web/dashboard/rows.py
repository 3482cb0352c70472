"""Bookings as rows, by day, and effects as steps: what is done, how it stands, and what to do if it failed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingInvitationFailed,
    BookingLinkAdded,
    BookingRescheduled,
)
from openslot.domains.bookings.models import AgendaEntry, Status
from openslot.domains.bookings.words import ListOfNames
from openslot.domains.conversations.models import Channel
from openslot.domains.event_types.models import Location, LocationKind
from openslot.domains.timeline.models import EffectKind, TimelineEffect
from openslot.doors.web.shared import words
from openslot.doors.web.shared.reasons import find_reason
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.events import EffectState
from openslot.platform.core.holding import name_stop
from openslot.platform.core.times import get_zone
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.i18n import PluralText, Text, recall

E = TypeVar("E")
PLACES = {
    LocationKind.VIDEO_LINK: Text("video"),
    LocationKind.PHONE: Text("phone"),
    LocationKind.IN_PERSON: Text("in person"),
}
STOPS = {name_stop(channel).kept for channel in OutgoingChannel}
CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
CANCELLERS = {"host": Text("cancelled by you"), "organization": Text("cancelled by your organization")}
PLANNING = {
    EffectKind.MAIL: Text("Emails about this change"),
    EffectKind.WEBHOOK: Text("Webhooks about this change"),
    EffectKind.CALENDAR: Text("Calendar entry"),
    EffectKind.MESSAGE: Text("Messages about this meeting"),
    EffectKind.CRM: Text("CRM"),
    EffectKind.REFUND: Text("Refund"),
}


class BookingRow(Struct, frozen=True, kw_only=True):
    id: UUID
    hours: Text
    name: str
    details: tuple[str, ...]
    badge: Text | None
    tone: str
    no_show: bool = False
    path: str | None = None
    """Where the row leads to; None: to the booking."""
    email: str | None = None
    """Of the person whose face the row shows; None where all rows are about the same person."""


class DayOfRows(Struct, frozen=True):
    heading: Text | Weekday
    rows: tuple[BookingRow, ...]


def by_day(entries: Iterable[AgendaEntry], user: User, *, failed: Mapping[UUID, int], now: datetime) -> list[DayOfRows]:
    """Group bookings, in their order, by their day in the host's zone."""
    return [
        DayOfRows(heading, tuple(_row(entry, user, failed=failed.get(entry.id, 0), now=now) for entry in found))
        for heading, found in group_by_day(entries, user, lambda entry: entry.starts_at, now=now)
    ]


def group_by_day(
    entries: Iterable[E], user: User, starts_at: Callable[[E], datetime], *, now: datetime
) -> Iterator[tuple[Text | Weekday, list[E]]]:
    """Group what is in order of its start by its day in the host's zone, each under its heading."""
    today = words.day(now, user.zone)
    for on, found in groupby(entries, key=lambda entry: words.day(starts_at(entry), user.zone)):
        yield words.day_heading(on, today=today), list(found)


def place(location: Location) -> str | None:
    """Name where a meeting takes place in a word or two."""
    if location.kind in {LocationKind.IN_PERSON, LocationKind.TEXT} and location.value:
        return location.value
    return PLACES.get(location.kind)


def tell_team(team_name: str | None, others: Sequence[str]) -> str | None:
    """Name the team of a booking, and who else hosts it."""
    if team_name is None or not others:
        return team_name
    return Text("%(team)s, with %(names)s", team=team_name, names=ListOfNames(tuple(others)))


def status_badge(status: Status, *, is_over: bool, no_show: bool = False, failed: int = 0) -> tuple[Text | None, str]:
    """Name a booking's status and its tone; a failure matters more than a confirmation."""
    if failed:
        return PluralText("%(count)s step failed", "%(count)s steps failed", count=failed), "warn"
    if status is Status.CANCELLED:
        return Text("Cancelled"), "off"
    if no_show:
        return Text("No-show"), "warn"
    return (None, "") if is_over else (Text("Confirmed"), "good")


def _row(entry: AgendaEntry, user: User, *, failed: int, now: datetime) -> BookingRow:
    badge, tone = status_badge(entry.status, is_over=entry.ends_at <= now, no_show=entry.no_show, failed=failed)
    return BookingRow(
        id=entry.id,
        hours=words.hours(entry.starts_at, entry.ends_at, user.zone),
        name=entry.invitee_name,
        email=entry.invitee_email,
        details=tuple(each for each in _details(entry, user, failed=failed, now=now) if each),
        badge=badge,
        tone=tone,
        no_show=entry.no_show,
    )


def _details(entry: AgendaEntry, user: User, *, failed: int, now: datetime) -> Iterable[str | None]:
    if entry.no_show and failed:
        # The badge tells of the failure.
        yield Text("No-show")
    yield entry.event_type_name
    yield tell_team(entry.team_name, entry.other_hosts)
    yield place(entry.location)
    if entry.guests:
        yield PluralText("%(count)s guest", "%(count)s guests", count=len(entry.guests))
    if entry.status is Status.CANCELLED:
        name = entry.invitee_name
        yield CANCELLERS.get(entry.cancelled_by or "") or (
            Text("cancelled by %(name)s", name=name) if entry.cancelled_by == "invitee" else None
        )
        yield recall(entry.cancel_reason) if entry.cancel_reason else None
    elif entry.previous_starts_at:
        yield _format_moved(entry.previous_starts_at, entry.starts_at, user, now=now)


def _format_moved(before: datetime, after: datetime, user: User, *, now: datetime) -> Text:
    """Say when a meeting was before: the time if it was on the same day, and the day otherwise."""
    day = words.day(before, user.zone)
    if day == words.day(after, user.zone):
        return Text("rescheduled from %(time)s", time=before.astimezone(get_zone(user.zone)).time())
    return Text("rescheduled from %(day)s", day=Weekday(day, words.day(now, user.zone)))


class Step(Struct, frozen=True, kw_only=True):
    id: UUID
    title: Text
    status: Text
    tone: str
    tries: Text | None = None
    note: str | None = None
    """Why it failed or was left out."""
    is_text: bool = False
    """Whether the note is ours, and not what another server has said."""
    may_retry: bool = False


def describe_step(effect: TimelineEffect, user: User, *, now: datetime) -> Step:
    status, tone = _STATUSES[effect.state](effect, user, now)
    note = (find_reason(effect.error) or effect.error) if effect.error else None
    is_failing = effect.state is EffectState.DEAD or _is_retried(effect)
    shows_note = is_failing or effect.state is EffectState.SKIPPED or _is_stopped(effect)
    if effect.is_to_host and effect.recipient == user.email:
        effect = replace(effect, recipient=None)
    return Step(
        id=effect.id,
        title=PLANNING[effect.kind] if effect.plans_others else NAMES[effect.kind](effect),
        status=status,
        tone=tone,
        tries=PluralText("tried once", "tried %(count)s times", count=effect.attempts) if is_failing else None,
        note=note if shows_note else None,
        is_text=isinstance(note, Text),
        may_retry=effect.state is EffectState.DEAD,
    )


def _name_webhook(effect: TimelineEffect) -> Text:
    if effect.place is None:
        return Text("Webhook to a deleted endpoint")
    return Text("Webhook to %(host)s", host=urlsplit(effect.place).hostname or effect.place)


def _name_calendar(effect: TimelineEffect) -> Text:
    return Text("Calendar “%(name)s”", name=effect.place) if effect.place else Text("A disconnected calendar")


def _name_crm(effect: TimelineEffect) -> Text:
    return Text("CRM “%(name)s”", name=effect.place) if effect.place else Text("A disconnected CRM")


def _name_mail(effect: TimelineEffect) -> Text:
    to = effect.recipient
    if effect.kind is EffectKind.REMINDER:
        return Text("Reminder to %(recipient)s", recipient=to) if to else Text("Reminder to you")
    if effect.event_type == BookingCancelled.type:
        return Text("Cancellation to %(recipient)s", recipient=to) if to else Text("Cancellation to you")
    if effect.event_type == BookingLinkAdded.type:
        return Text("Link to %(recipient)s", recipient=to) if to else Text("Link to you")
    if effect.event_type == BookingInvitationFailed.type:
        return Text("Invitation to %(recipient)s", recipient=to or "")
    if effect.event_type == BookingRescheduled.type:
        return Text("Reschedule notice to %(recipient)s", recipient=to) if to else Text("Reschedule notice to you")
    return Text("Confirmation to %(recipient)s", recipient=to) if to else Text("Confirmation to you")


def _name_mail_follow_up(effect: TimelineEffect) -> Text:
    to = effect.recipient
    return Text("Follow-up to %(recipient)s", recipient=to) if to else Text("Follow-up to you")


def _name_message(effect: TimelineEffect) -> Text:
    told = {"channel": CHANNELS.get(Channel(effect.place or "sms"), ""), "recipient": effect.recipient or ""}
    if effect.kind is EffectKind.MESSAGE:
        return Text("Reminder by %(channel)s to %(recipient)s", **told)
    return Text("Follow-up by %(channel)s to %(recipient)s", **told)


def _is_stopped(effect: TimelineEffect) -> bool:
    return effect.state is EffectState.QUEUED and effect.error in STOPS


def _is_retried(effect: TimelineEffect) -> bool:
    return effect.state is EffectState.QUEUED and effect.attempts > 0 and not _is_stopped(effect)


def _format_queued(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    if _is_retried(effect):
        return words.retry_in(effect.next_try_at - now), "bad"
    if effect.next_try_at > now:
        return words.at(effect.next_try_at, user.zone, now=now), "wait"
    return Text("in progress"), "wait"


def _format_done(effect: TimelineEffect, user: User, now: datetime) -> tuple[Text, str]:
    if effect.in_mailbox:
        return Text("in the mailbox, not sent"), "none"
    return words.at(effect.finished_at or effect.next_try_at, user.zone, now=now), "good"


NAMES: dict[EffectKind, Callable[[TimelineEffect], Text]] = {
    EffectKind.MAIL: _name_mail,
    EffectKind.REMINDER: _name_mail,
    EffectKind.MAIL_FOLLOW_UP: _name_mail_follow_up,
    EffectKind.MESSAGE: _name_message,
    EffectKind.FOLLOW_UP: _name_message,
    EffectKind.WEBHOOK: _name_webhook,
    EffectKind.CALENDAR: _name_calendar,
    EffectKind.CRM: _name_crm,
    EffectKind.CONFERENCE: lambda _: Text("Link of the video call"),
    EffectKind.REFUND: lambda _: Text("Refund"),
    EffectKind.WAIT_LIST: lambda _: Text("Offer of the time to the wait list"),
    EffectKind.TEAM_CHAT: lambda _: Text("Message to the team chat"),
    EffectKind.ENDING: lambda _: Text("End of payments and plans of a closed account"),
    # Of a version that had steps which this one does not know.
    EffectKind.OTHER: lambda _: Text("Another step"),
}
_STATUSES: dict[EffectState, Callable[[TimelineEffect, User, datetime], tuple[Text, str]]] = {
    EffectState.QUEUED: _format_queued,
    EffectState.DONE: _format_done,
    EffectState.RUNNING: lambda *_: (Text("in progress"), "wait"),
    EffectState.WAITING: lambda *_: (Text("waiting for an earlier step"), "wait"),
    EffectState.DEAD: lambda *_: (Text("failed"), "bad"),
    EffectState.SKIPPED: lambda *_: (Text("skipped"), "none"),
}
