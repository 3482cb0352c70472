"""The first screen's days: the week as a strip of bars, today as a line with the present moment, and the next ones."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability.grid import merge
from openslot.domains.bookings.models import AgendaEntry
from openslot.domains.event_types.models import LocationKind
from openslot.doors.web.shared import words
from openslot.doors.web.shared.days import name_location, tell_team
from openslot.doors.web.shared.figures import ShortDayOfWeek, ShortWeekday
from openslot.platform.core.times import at_second, get_zone
from openslot.platform.i18n import PluralText, Text

Interval = tuple[int, int]
DAYS_OF_WEEK = 7
MAX_BARS = 6
LONG = timedelta(hours=1)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class When(StrEnum):
    ENDED = "ended"
    NEXT = "next"
    LATER = "later"
    BUSY = "busy"


class StripBar(Struct, frozen=True, kw_only=True):
    event_type_id: UUID
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
    event_type_id: UUID
    event: str
    details: tuple[str, ...]
    notes: str | None
    join: str | None
    """The address of a video call."""
    until: Text
    """How long until it begins."""
    failed: Text | None
    no_show: bool


class BusyTime(Struct, frozen=True, kw_only=True):
    """When a connected calendar says that the host is busy; with what is not shown."""

    starts: object
    until: Text
    when: When = When.BUSY


class TodaysLine(Struct, frozen=True, kw_only=True):
    ended: list[TodaysMeeting]
    coming: list[TodaysMeeting | BusyTime]
    left: int
    """How many meetings are not over."""


class ComingMeeting(Struct, frozen=True, kw_only=True):
    """A booking of one of the next days."""

    id: UUID
    day: Text | ShortDayOfWeek
    hours: Text
    name: str
    email: str
    event_type_id: UUID
    event: str
    failed: Text | None


class Week(Struct, frozen=True, kw_only=True):
    """The days that the first screen shows: the week of today, and seven days after today."""

    today: date
    first: date
    since: datetime
    until: datetime


def read_week(user: User, *, first_weekday: int, now: datetime) -> Week:
    today = words.day(now, user.zone)
    first = today - timedelta(days=(today.weekday() - first_weekday) % DAYS_OF_WEEK)
    since, until = (words.begin_day(each, user.zone) for each in (first, today + timedelta(days=DAYS_OF_WEEK + 1)))
    return Week(today=today, first=first, since=since, until=until)


def show_strip(entries: Sequence[AgendaEntry], user: User, *, week: Week, now: datetime) -> list[StripDay]:
    days = [week.first + timedelta(days=each) for each in range(DAYS_OF_WEEK)]
    found: dict[date, list[AgendaEntry]] = {on: [] for on in days}
    for entry in entries:
        found.get(words.day(entry.starts_at, user.zone), []).append(entry)
    return [
        StripDay(
            on=on,
            weekday=ShortWeekday(on.weekday()),
            is_today=on == week.today,
            count=PluralText("%(count)s meeting", "%(count)s meetings", count=len(each)),
            bars=tuple(_bar(entry, now=now) for entry in each[:MAX_BARS]),
        )
        for on, each in found.items()
    ]


def _bar(entry: AgendaEntry, *, now: datetime) -> StripBar:
    is_long = entry.ends_at - entry.starts_at >= LONG
    return StripBar(event_type_id=entry.event_type_id, is_long=is_long, is_over=entry.ends_at <= now)


def show_today(
    entries: Sequence[AgendaEntry], busy: Sequence[Interval], user: User, *, failed: Mapping[UUID, int], now: datetime
) -> TodaysLine:
    """Put today's meetings, the next one marked, and the busy times that are not over into their order."""
    ended = [entry for entry in entries if entry.ends_at <= now]
    left = [entry for entry in entries if entry.ends_at > now]
    coming: list[tuple[datetime, TodaysMeeting | BusyTime]] = [
        (each.starts_at, _meeting(each, user, When.LATER if index else When.NEXT, failed=failed, now=now))
        for index, each in enumerate(left)
    ]
    coming += _list_busy(busy, user, now=now)
    return TodaysLine(
        ended=[_meeting(each, user, When.ENDED, failed=failed, now=now) for each in ended],
        coming=[shown for _, shown in sorted(coming, key=lambda each: each[0])],
        left=len(left),
    )


def _list_busy(spans: Sequence[Interval], user: User, *, now: datetime) -> Iterator[tuple[datetime, BusyTime]]:
    today, zone = words.day(now, user.zone), get_zone(user.zone)
    begins, ends = (words.begin_day(today + timedelta(days=each), user.zone) for each in (0, 1))
    for first, last in merge(spans):
        start, end = max(at_second(first), begins), at_second(last)
        if end <= now or start >= ends:
            continue
        until = Text("Busy until %(time)s", time=end.astimezone(zone).time())
        if end >= ends:
            until = Text("Busy all day") if start == begins else Text("Busy for the rest of the day")
        yield start, BusyTime(starts=start.astimezone(zone).time(), until=until)


def show_coming(
    entries: Sequence[AgendaEntry], user: User, *, failed: Mapping[UUID, int], now: datetime
) -> list[ComingMeeting]:
    tomorrow = words.day(now, user.zone) + timedelta(days=1)
    days = [(words.day(entry.starts_at, user.zone), entry) for entry in entries]
    return [
        ComingMeeting(
            id=entry.id,
            day=Text("Tomorrow") if on == tomorrow else ShortDayOfWeek(on),
            hours=words.hours(entry.starts_at, entry.ends_at, user.zone),
            name=entry.invitee_name,
            email=entry.invitee_email,
            event_type_id=entry.event_type_id,
            event=entry.event_type_name,
            failed=_count_failed(failed, entry),
        )
        for on, entry in days
    ]


def _count_failed(failed: Mapping[UUID, int], entry: AgendaEntry) -> Text | None:
    count = failed.get(entry.id, 0)
    return PluralText("%(count)s step failed", "%(count)s steps failed", count=count) if count else None


def _meeting(entry: AgendaEntry, user: User, when: When, *, failed: Mapping[UUID, int], now: datetime) -> TodaysMeeting:
    guests = PluralText("%(count)s guest", "%(count)s guests", count=len(entry.guests)) if entry.guests else None
    is_video = entry.location.kind is LocationKind.VIDEO_LINK
    team = tell_team(entry.team_name, entry.other_hosts)
    return TodaysMeeting(
        id=entry.id,
        when=when,
        starts=entry.starts_at.astimezone(get_zone(user.zone)).time(),
        hours=words.hours(entry.starts_at, entry.ends_at, user.zone),
        name=entry.invitee_name,
        email=entry.invitee_email,
        event_type_id=entry.event_type_id,
        event=entry.event_type_name,
        details=tuple(each for each in (name_location(entry.location), guests, team) if each),
        notes=entry.notes,
        join=entry.location.value if is_video and entry.location.value else None,
        until=format_until(entry.starts_at - now),
        failed=_count_failed(failed, entry),
        no_show=entry.no_show,
    )


def format_until(wait: timedelta) -> Text:
    """Write `in 18 min`, or that it has begun."""
    if wait <= timedelta():
        return Text("now")
    if wait < HOUR:
        return PluralText("in %(count)s minute", "in %(count)s minutes", count=-(-wait // MINUTE))
    return PluralText("in %(count)s hour", "in %(count)s hours", count=round(wait / HOUR))
