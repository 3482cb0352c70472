"""The first screen's days: the week as a strip of bars, and today as a line with what is past, now, next and later."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings.models import AgendaEntry
from openslot.core.times import get_zone
from openslot.event_types.models import LocationKind
from openslot.i18n import PluralText, Text
from openslot.web import words
from openslot.web.dashboard.rows import place
from openslot.web.figures import ShortWeekday

DAYS_OF_WEEK = 7
MAX_BARS = 6
LONG = timedelta(hours=1)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class When(StrEnum):
    ENDED = "ended"
    NEXT = "next"
    LATER = "later"


class StripBar(Struct, frozen=True, kw_only=True):
    color: str
    is_long: bool
    is_over: bool


class StripDay(Struct, frozen=True, kw_only=True):
    on: date
    weekday: ShortWeekday
    is_today: bool
    count: Text
    bars: tuple[StripBar, ...]


class TodaysMeeting(Struct, frozen=True, kw_only=True):
    """A booking of today, as the line shows it."""

    id: UUID
    when: When
    starts: object
    hours: Text
    name: str
    email: str
    color: str
    event: str
    details: tuple[str, ...]
    notes: str | None
    join: str | None
    """The address of a video call."""
    until: Text
    """How long until it begins."""
    failed: Text | None


def week_of(today: date, *, first_weekday: int) -> date:
    """Return the first day of the week that a day is in."""
    return today - timedelta(days=(today.weekday() - first_weekday) % DAYS_OF_WEEK)


def show_strip(entries: Sequence[AgendaEntry], user: User, *, first: date, now: datetime) -> list[StripDay]:
    today, days = words.day(now, user.zone), [first + timedelta(days=each) for each in range(DAYS_OF_WEEK)]
    found: dict[date, list[AgendaEntry]] = {on: [] for on in days}
    for entry in entries:
        found.get(words.day(entry.starts_at, user.zone), []).append(entry)
    return [
        StripDay(
            on=on,
            weekday=ShortWeekday(on.weekday()),
            is_today=on == today,
            count=PluralText("%(count)s meeting", "%(count)s meetings", count=len(each)),
            bars=tuple(_bar(entry, now=now) for entry in each[:MAX_BARS]),
        )
        for on, each in found.items()
    ]


def _bar(entry: AgendaEntry, *, now: datetime) -> StripBar:
    is_long = entry.ends_at - entry.starts_at >= LONG
    return StripBar(color=entry.event_type_color, is_long=is_long, is_over=entry.ends_at <= now)


def show_today(
    entries: Sequence[AgendaEntry], user: User, *, failed: dict[UUID, int], now: datetime
) -> tuple[list[TodaysMeeting], int]:
    """Return today's meetings, the next one marked, and how many of them are over."""
    over = sum(entry.ends_at <= now for entry in entries)
    coming = next((entry for entry in entries if entry.ends_at > now), None)
    meetings = [_meeting(entry, user, coming=coming, failed=failed.get(entry.id, 0), now=now) for entry in entries]
    return sorted(meetings, key=lambda meeting: meeting.when is not When.ENDED), over


def _meeting(
    entry: AgendaEntry, user: User, *, coming: AgendaEntry | None, failed: int, now: datetime
) -> TodaysMeeting:
    guests = PluralText("%(count)s guest", "%(count)s guests", count=len(entry.guests)) if entry.guests else None
    is_video = entry.location.kind is LocationKind.VIDEO_LINK
    return TodaysMeeting(
        id=entry.id,
        when=When.ENDED if entry.ends_at <= now else When.NEXT if entry is coming else When.LATER,
        starts=entry.starts_at.astimezone(get_zone(user.zone)).time(),
        hours=words.hours(entry.starts_at, entry.ends_at, user.zone),
        name=entry.invitee_name,
        email=entry.invitee_email,
        color=entry.event_type_color,
        event=entry.event_type_name,
        details=tuple(each for each in (place(entry.location), guests) if each),
        notes=entry.notes,
        join=entry.location.value if is_video and entry.location.value else None,
        until=format_until(entry.starts_at - now),
        failed=PluralText("%(count)s step failed", "%(count)s steps failed", count=failed) if failed else None,
    )


def format_until(wait: timedelta) -> Text:
    """Write `in 18 min`, or that it has begun."""
    if wait <= timedelta():
        return Text("now")
    if wait < HOUR:
        return PluralText("in %(count)s minute", "in %(count)s minutes", count=-(-wait // MINUTE))
    return PluralText("in %(count)s hour", "in %(count)s hours", count=round(wait / HOUR))
