"""The words for each rule that closes a start, for what would open it, and for the days and times in them."""

from collections.abc import Callable
from datetime import date, datetime
from zoneinfo import ZoneInfo

from babel.dates import format_date, get_day_names
from babel.units import format_unit

from openslot.domains.availability.explanations import Reason
from openslot.domains.availability.grid import Interval
from openslot.domains.availability.hours import find_holidays
from openslot.domains.availability.models import ClaimKind, Code, HostInputs
from openslot.domains.availability.rules import SlotQuery, find_window
from openslot.domains.schedules.models import WEEKDAYS, Hours
from openslot.domains.schedules.rules import MINUTES_A_DAY, find_override, hours_on, write_minute
from openslot.platform.core.times import at_second, ceil_second, date_of, floor_second, local_day
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Locale
from openslot.platform.i18n.localization import Localizable, localize

_TO = "\N{EN DASH}"


class WeekdayName(Localizable, frozen=True):
    weekday: int

    def localize(self, locale: Locale) -> str:
        return str(get_day_names("wide", "stand-alone", locale=locale.formats)[self.weekday])

    def __str__(self) -> str:
        return WEEKDAYS[self.weekday].capitalize()


class DayInWords(Localizable, frozen=True):
    on: date

    def localize(self, locale: Locale) -> str:
        return format_date(self.on, "full", locale=locale.formats)

    def __str__(self) -> str:
        return f"{WEEKDAYS[self.on.weekday()].capitalize()} {self.on}"


class LocalMoment(Localizable, frozen=True):
    at: datetime

    def localize(self, locale: Locale) -> str:
        return f"{format_date(self.at, 'long', locale=locale.formats)} {write_time(self.at, locale)}"

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}"


class LocalSpan(Localizable, frozen=True):
    """From when to when by the host's clock, with dates only if they differ."""

    starts_at: datetime
    ends_at: datetime

    def localize(self, locale: Locale) -> str:
        if self.starts_at.date() == self.ends_at.date():
            return f"{write_time(self.starts_at, locale)}{_TO}{write_time(self.ends_at, locale)}"
        return f"{LocalMoment(self.starts_at).localize(locale)} {_TO} {LocalMoment(self.ends_at).localize(locale)}"

    def __str__(self) -> str:
        if self.starts_at.date() == self.ends_at.date():
            return f"{self.starts_at:%H:%M}{_TO}{self.ends_at:%H:%M}"
        return f"{LocalMoment(self.starts_at)} {_TO} {LocalMoment(self.ends_at)}"


class HoursInWords(Localizable, frozen=True):
    hours: Hours

    def localize(self, locale: Locale) -> str:
        return ", ".join(
            f"{_write_minute(each.start_minute, locale)}{_TO}{_write_minute(each.end_minute, locale)}"
            for each in self.hours
        )

    def __str__(self) -> str:
        return ", ".join(
            f"{write_minute(each.start_minute)}{_TO}{write_minute(each.end_minute)}" for each in self.hours
        )


class LengthOfTime(Localizable, frozen=True):
    minutes: int

    def localize(self, locale: Locale) -> str:
        parts = zip(self._split(), ("duration-day", "duration-hour", "duration-minute"), strict=True)
        written = [format_unit(count, unit, "short", locale=locale.formats) for count, unit in parts if count]
        return " ".join(written) or format_unit(0, "duration-minute", "short", locale=locale.formats)

    def __str__(self) -> str:
        parts = [f"{count} {unit}" for count, unit in zip(self._split(), ("d", "h", "min"), strict=True) if count]
        return " ".join(parts) or "0 min"

    def _split(self) -> tuple[int, int, int]:
        return self.minutes // 1440, self.minutes // 60 % 24, self.minutes % 60


def write_time(at: datetime, locale: Locale) -> str:
    return str(localize(at.time(), locale))


def _write_minute(minute: int, locale: Locale) -> str:
    # No time of day is 24:00, which people read all the same.
    if minute == MINUTES_A_DAY:
        return write_minute(minute)
    within = minute % MINUTES_A_DAY
    return write_time(datetime(2000, 1, 1, within // 60, within % 60), locale)  # noqa: DTZ001 - only its clock is shown


NEVER = Reason(
    Code.OFF_GRID,
    Text("This time does not exist"),
    Text("Choose a whole minute on a date from 1970 to 2200"),
    closes=0,
)


def give_reason(query: SlotQuery, code: Code, *, cause: int, start: int) -> Reason:
    return _WORDS[code](query, cause, start)


def give_day_reason(query: SlotQuery, on: date) -> Reason:
    """Return why a day gives no start at all."""
    remedy = Text(
        "Add hours or an override for %(day)s that are at least %(length)s long",
        day=on,
        length=LengthOfTime(query.duration // 60),
    )
    return Reason(Code.OUTSIDE_HOURS, _tell_hours(query, on), remedy, closes=0)


def _past(query: SlotQuery, _: int, __: int) -> Reason:
    remedy = Text("Choose a start from %(moment)s on", moment=_moment(query.zone, query.now))
    return Reason(Code.PAST, Text("In the past"), remedy)


def _outside_hours(query: SlotQuery, _: int, start: int) -> Reason:
    on = date_of(local_day(query.zone, start))
    remedy = Text(
        "Add hours or an override for %(day)s that include %(span)s",
        day=on,
        span=_span(query.zone, (start, start + query.duration)),
    )
    return Reason(Code.OUTSIDE_HOURS, _tell_hours(query, on), remedy)


def _tell_hours(query: SlotQuery, on: date) -> Text:
    schedule = query.inputs.calendar
    hours = HoursInWords(hours_on(schedule, on))
    if find_override(schedule, on) is not None:
        if not hours.hours:
            return Text("Outside hours: the override for %(day)s has no hours", day=on)
        return Text("Outside hours: the override for %(day)s has %(hours)s", day=on, hours=hours)
    if not hours.hours:
        return Text("Outside hours: %(day)s has no hours", day=DayInWords(on))
    return Text("Outside hours: %(day)s has %(hours)s", day=DayInWords(on), hours=hours)


def _off_grid(query: SlotQuery, __: int, start: int) -> Reason:
    step = query.steps.step
    anchor = max(first for first, _ in query.hours.stretches if first <= start)
    earlier = _moment(query.zone, start - (start - anchor) % step)
    return Reason(
        Code.OFF_GRID,
        Text(
            "Start times are %(minutes)s min apart, counted from %(moment)s",
            minutes=step // 60,
            moment=_moment(query.zone, anchor),
        ),
        Text("Choose %(moment)s, or change the slot interval", moment=earlier),
    )


def _out_of_office(query: SlotQuery, cause: int, _: int) -> Reason:
    away = query.inputs.calendar.out_of_office[cause]
    span = floor_second(away.starts_at), ceil_second(away.ends_at)
    when = _span(query.zone, span)
    sentence = (
        Text("Out of office (%(reason)s), %(span)s", reason=away.reason, span=when)
        if away.reason
        else Text("Out of office, %(span)s", span=when)
    )
    return _with_span(Code.OUT_OF_OFFICE, sentence, Text("Shorten or remove the time off"), span)


def _holiday(query: SlotQuery, cause: int, _: int) -> Reason:
    on = date_of(cause)
    name = find_holidays(query.inputs.calendar, cause, cause)[cause]
    return Reason(
        Code.HOLIDAY,
        Text("Public holiday on %(day)s: %(name)s", day=on, name=name),
        Text("Add an override with hours for %(day)s", day=on),
    )


def _window(query: SlotQuery, _: int, start: int) -> Reason:
    first, last = find_window(query.inputs, query.today)
    remedy = (
        Text("Let the booking window start earlier")
        if local_day(query.zone, start) < first
        else Text("Extend the booking window")
    )
    sentence = Text("Outside the booking window, %(first)s to %(last)s", first=date_of(first), last=date_of(last))
    return Reason(Code.WINDOW, sentence, remedy)


def _notice(query: SlotQuery, _: int, start: int) -> Reason:
    minutes = query.inputs.event_type.min_notice_minutes
    span = query.now, query.now + minutes * 60
    sentence = Text(
        "Requires %(length)s notice; the earliest start is %(moment)s",
        length=LengthOfTime(minutes),
        moment=_moment(query.zone, span[1]),
    )
    enough = LengthOfTime((start - query.now) // 60)
    return _with_span(
        Code.NOTICE, sentence, Text("Lower the minimum notice to %(length)s or less", length=enough), span
    )


def _day_limit(query: SlotQuery, cause: int, _: int) -> Reason:
    max_, on = query.inputs.event_type.limits.per_day, date_of(cause)
    return Reason(
        Code.DAY_LIMIT,
        Text("Limit of %(max)s a day reached on %(day)s", max=max_, day=on),
        Text("Raise the limit per day, or cancel a booking on %(day)s", day=on),
    )


def _week_limit(query: SlotQuery, cause: int, _: int) -> Reason:
    max_, on = query.inputs.event_type.limits.per_week, date_of(cause)
    return Reason(
        Code.WEEK_LIMIT,
        Text("Limit of %(max)s a week reached in the week of %(day)s", max=max_, day=on),
        Text("Raise the limit per week, or cancel a booking of that week"),
    )


def _full(query: SlotQuery, cause: int, _: int) -> Reason:
    session, seats = query.inputs.sessions[cause], query.inputs.event_type.seats
    span = session.taken_from, session.taken_until
    sentence = Text("All %(seats)s seats are taken", seats=seats)
    return _with_span(Code.FULL, sentence, Text("Add seats, or cancel a booking of this session"), span)


def _taken(query: SlotQuery, cause: int, _: int) -> Reason:
    claim = _host_of(query).taken.claims[cause]
    span = claim.start, claim.end
    when = _span(query.zone, span)
    # Each sentence is written out, so that `make messages` finds it.
    if claim.kind == ClaimKind.HOLD:
        sentence = Text("Temporarily held by another visitor, %(span)s including buffers", span=when)
        remedy = Text("Wait for the hold to expire, or shorten the buffers")
    elif claim.kind == ClaimKind.OFFER:
        sentence = Text("Offered to someone on the wait list, %(span)s including buffers", span=when)
        remedy = Text("Wait for the answer, or remove the person from the wait list")
    elif claim.kind == ClaimKind.SESSION:
        sentence = Text("Taken by a session, %(span)s including buffers", span=when)
        remedy = Text("Reschedule or cancel that session, or shorten the buffers")
    else:
        sentence = Text("Taken by a booking, %(span)s including buffers", span=when)
        remedy = Text("Reschedule or cancel that booking, or shorten the buffers")
    return _with_span(Code.TAKEN, sentence, remedy, span)


def _busy(query: SlotQuery, cause: int, _: int) -> Reason:
    busy = _host_of(query).taken.busy[cause]
    if busy.is_unread:
        remedy = Text(
            "Reconnect %(source)s, stop counting it as busy, or use its last known times for longer",
            source=busy.source,
        )
        return Reason(Code.BUSY, Text("%(source)s has not been synced for too long", source=busy.source), remedy)
    span = busy.start, busy.end
    sentence = Text("Busy in %(source)s, %(span)s", source=busy.source, span=_span(query.zone, span))
    remedy = Text(
        "Move that event or show it as free in %(source)s, or shorten the buffers",
        source=busy.source,
    )
    return _with_span(Code.BUSY, sentence, remedy, span)


_WORDS: dict[Code, Callable[[SlotQuery, int, int], Reason]] = {
    Code.PAST: _past,
    Code.OUTSIDE_HOURS: _outside_hours,
    Code.OFF_GRID: _off_grid,
    Code.OUT_OF_OFFICE: _out_of_office,
    Code.HOLIDAY: _holiday,
    Code.WINDOW: _window,
    Code.NOTICE: _notice,
    Code.DAY_LIMIT: _day_limit,
    Code.WEEK_LIMIT: _week_limit,
    Code.FULL: _full,
    Code.TAKEN: _taken,
    Code.BUSY: _busy,
}


def _host_of(query: SlotQuery) -> HostInputs:
    if query.own is None:
        raise TypeError("its hosts are chosen")
    return query.own


def _with_span(code: Code, sentence: Text, remedy: Text, span: Interval) -> Reason:
    return Reason(code, sentence, remedy, starts_at=at_second(span[0]), ends_at=at_second(span[1]))


def _span(zone: ZoneInfo, span: Interval) -> LocalSpan:
    """Write a span as the host's clock shows it, with dates only where it leaves its day."""
    return LocalSpan(_local(zone, span[0]), _local(zone, span[1]))


def _moment(zone: ZoneInfo, instant: int) -> LocalMoment:
    return LocalMoment(_local(zone, instant))


def _local(zone: ZoneInfo, instant: int) -> datetime:
    return at_second(instant).astimezone(zone).replace(tzinfo=None)
