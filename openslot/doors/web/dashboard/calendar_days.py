"""The days of a calendar of bookings, with everything at its place on their clocks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import Days
from openslot.domains.bookings.models import CalendarMeeting, HostCalendar
from openslot.domains.event_types.models import LocationKind
from openslot.doors.web.dashboard.calendar_layout import (
    MINUTES_A_DAY,
    DaySpan,
    Lane,
    assign_lanes,
    clip_span,
    count_minutes,
    find_now,
    join_named_spans,
    spans_by_day,
)
from openslot.doors.web.shared import words
from openslot.doors.web.shared.days import name_location
from openslot.doors.web.shared.list_queries import link
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.times import Offsets, date_of, day_number, floor_second, get_offsets, get_zone
from openslot.platform.i18n import Text

ICONS = {LocationKind.VIDEO_LINK: "video", LocationKind.PHONE: "phone", LocationKind.IN_PERSON: "pin"}
Spans = Iterable[tuple[int, int, str]]
Labelled = tuple[DaySpan, str]


class CalendarBlock(Struct, frozen=True, kw_only=True):
    """A meeting on one day; one that goes on after midnight is on two."""

    id: UUID
    path: str
    name: str
    others: int
    """How many more have booked the same group session."""
    what: str
    where: str | None
    icon: str | None
    starts: object
    hours: Text
    event_type_id: UUID
    at: DaySpan
    lane: Lane
    is_over: bool
    is_missed: bool
    """Whether the only one who booked it did not come."""
    is_theirs: bool
    """Whether colleagues host it."""
    is_movable: bool

    @property
    def classes(self) -> str:
        size = " short" if self.at.end - self.at.start <= 30 else ""
        state = f"{' past' if self.is_over else ''}{' theirs' if self.is_theirs else ''}"
        return f"{self.at.classes}{self.lane.classes}{size}{state}"


class ShownDay(Struct, frozen=True, kw_only=True):
    on: date
    title: Weekday
    column: int
    """The column in the week, from 0."""
    is_today: bool
    is_over: bool
    is_asked: bool
    is_outside: bool
    """Whether it belongs to another month than the one that is shown."""
    free: Sequence[DaySpan]
    away: Sequence[Labelled]
    busy: Sequence[Labelled]
    booked: Sequence[CalendarMeeting]
    """All meetings of the day."""
    meetings: Sequence[CalendarBlock]
    """The meetings that are shown."""
    now: DaySpan | None
    lasts: Text | None
    """How long it is, if clocks change on it."""

    @property
    def is_off(self) -> bool:
        return not self.free and not self.booked

    @property
    def left(self) -> int:
        """How many meetings are not shown."""
        return len(self.booked) - len(self.meetings)


class DayMaker(Struct, frozen=True, kw_only=True):
    """What all days of a calendar have in common."""

    days: Days
    asked: date
    user: User
    now: datetime
    month: int | None = None
    """The month whose days are shown; None if it does not matter."""
    few: int | None = None
    """How many meetings of a day are shown; None if all are."""

    def lay_out(self, found: HostCalendar) -> list[ShownDay]:
        """Put everything into its days."""
        numbers = range(day_number(self.days.first), day_number(self.days.last) + 1)
        offsets = get_offsets(get_zone(self.user.zone), self.days.first, self.days.last)
        free = _by_day(offsets, numbers, ((start, end, "") for start, end in found.free))
        away = _by_day(offsets, numbers, join_named_spans((each.start, each.end, each.name) for each in found.away))
        busy = _by_day(offsets, numbers, join_named_spans((each.start, each.end, each.name) for each in found.busy))
        booked = _list_booked(offsets, numbers, found.meetings)
        today, moment = find_now(offsets, floor_second(self.now))
        return [
            ShownDay(
                on=on,
                title=Weekday(on, date_of(today)),
                column=(day - numbers.start) % 7,
                is_today=day == today,
                is_over=day < today,
                is_asked=on == self.asked,
                is_outside=self.month is not None and on.month != self.month,
                free=[where for where, _ in free.get(day, ())],
                away=away.get(day, ()),
                busy=busy.get(day, ()),
                booked=[meeting for _, meeting in booked.get(day, ())],
                meetings=self._put_side_by_side(booked.get(day, ())),
                now=moment if day == today else None,
                lasts=_find_length(offsets, day),
            )
            for day in numbers
            for on in (date_of(day),)
        ]

    def _put_side_by_side(self, placed: Sequence[tuple[DaySpan, CalendarMeeting]]) -> list[CalendarBlock]:
        shown = placed[: self.few]
        lanes = assign_lanes([where for where, _ in shown])
        return [self._show(meeting, at, lane) for (at, meeting), lane in zip(shown, lanes, strict=True)]

    def _show(self, meeting: CalendarMeeting, at: DaySpan, lane: Lane) -> CalendarBlock:
        zone, is_over = self.user.zone, meeting.ends_at <= self.now
        return CalendarBlock(
            id=meeting.id,
            path=self._find_path(meeting),
            name=meeting.invitee_name,
            others=meeting.people - 1,
            what=" · ".join(filter(None, (meeting.event_type_name, meeting.team_name, *meeting.colleagues))),
            where=name_location(meeting.location),
            icon=ICONS.get(meeting.location.kind),
            starts=meeting.starts_at.astimezone(get_zone(zone)).time(),
            hours=words.hours(meeting.starts_at, meeting.ends_at, zone),
            event_type_id=meeting.event_type_id,
            at=at,
            lane=lane,
            is_over=is_over,
            is_missed=meeting.no_show and meeting.people == 1,
            is_theirs=bool(meeting.colleagues),
            is_movable=not is_over and meeting.people == 1,
        )

    def _find_path(self, meeting: CalendarMeeting) -> str:
        """Return the page of a booking, or the list of all bookings of a group session."""
        if meeting.people == 1:
            return f"/bookings/{meeting.id}"
        on = words.day(meeting.starts_at, self.user.zone)
        view = "past" if meeting.ends_at <= self.now else ""
        return link("/bookings", {"view": view, "type": meeting.event_type_slug, "from": on, "to": on})


def list_spans(days: Iterable[ShownDay]) -> Iterator[DaySpan]:
    """List where something may happen or does; being away or busy needs no room of its own."""
    for day in days:
        yield from day.free
        yield from (meeting.at for meeting in day.meetings)


def clip_day(day: ShownDay, hours: range) -> ShownDay:
    """Leave out what is before and after the hours that are shown."""
    is_shown = day.now is not None and day.now.start // 60 in hours
    away, busy = (list(_clip(each, hours)) for each in (day.away, day.busy))
    return replace(day, away=away, busy=busy, now=day.now if is_shown else None)


def _clip(labelled: Iterable[Labelled], hours: range) -> Iterator[Labelled]:
    for where, label in labelled:
        if clipped := clip_span(where, hours):
            yield clipped, label


def _by_day(offsets: Offsets, days: range, spans: Spans) -> dict[int, list[Labelled]]:
    by_day: dict[int, list[Labelled]] = {}
    for start, end, label in spans:
        for day, where in spans_by_day(offsets, days, start, end):
            by_day.setdefault(day, []).append((where, label))
    return by_day


def _list_booked(
    offsets: Offsets, days: range, meetings: Iterable[CalendarMeeting]
) -> dict[int, list[tuple[DaySpan, CalendarMeeting]]]:
    """Put meetings into their days, each day in order."""
    by_day: dict[int, list[tuple[DaySpan, CalendarMeeting]]] = {}
    for meeting in meetings:
        start, end = floor_second(meeting.starts_at), floor_second(meeting.ends_at)
        for day, where in spans_by_day(offsets, days, start, end):
            by_day.setdefault(day, []).append((where, meeting))
    for placed in by_day.values():
        placed.sort(key=lambda one: one[0])
    return by_day


def _find_length(offsets: Offsets, day: int) -> Text | None:
    minutes = count_minutes(offsets, day)
    return None if minutes == MINUTES_A_DAY else words.length(minutes)
