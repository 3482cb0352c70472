"""The words for each rule that closes a start, and for what would open it."""

from collections.abc import Callable
from datetime import date
from zoneinfo import ZoneInfo

from openslot.availability.closures import SlotQuery, find_window
from openslot.availability.grid import find_holidays, step_of
from openslot.availability.intervals import Span
from openslot.availability.models import Code, Reason
from openslot.core.zones import at_second, ceil_second, date_of, floor_second, local_day
from openslot.schedules.models import WEEKDAYS
from openslot.schedules.rules import hours_on, write_minute

_TO = "\N{EN DASH}"

NEVER = Reason(
    Code.OFF_GRID, "Never on this clock", "Choose a whole minute of a day that exists, from 1970 to 2200", closes=0
)


def give_reason(query: SlotQuery, code: Code, *, cause: int, start: int) -> Reason:
    """Put a rule that closes a start into words."""
    return _WORDS[code](query, cause, start)


def give_day_reason(query: SlotQuery, on: date) -> Reason:
    """Tell why a day gives no start at all."""
    minutes = query.duration // 60
    remedy = f"Add hours or an override for {on} that are at least {_length(minutes)} long"
    return Reason(Code.OUTSIDE_HOURS, f"Outside hours: {_tell_hours(query, on)}", remedy, closes=0)


def _past(query: SlotQuery, _: int, __: int) -> Reason:
    return Reason(Code.PAST, "In the past", f"Choose a start from {_moment(query.zone, query.now)} on")


def _outside_hours(query: SlotQuery, _: int, start: int) -> Reason:
    on = date_of(local_day(query.zone, start))
    meeting = _span(query.zone, (start, start + query.duration))
    remedy = f"Add hours or an override for {on} that include {meeting}"
    return Reason(Code.OUTSIDE_HOURS, f"Outside hours: {_tell_hours(query, on)}", remedy)


def _tell_hours(query: SlotQuery, on: date) -> str:
    schedule = query.setting.schedule
    hours = [
        f"{write_minute(each.start_minute)}{_TO}{write_minute(each.end_minute)}" for each in hours_on(schedule, on)
    ]
    is_override = any(override.on == on for override in schedule.overrides)
    day = "the override for" if is_override else WEEKDAYS[on.weekday()].capitalize()
    return f"{day} {on} has {', '.join(hours) or 'no hours'}"


def _off_grid(query: SlotQuery, __: int, start: int) -> Reason:
    step = step_of(query.setting.event_type)
    anchor = max(first for first, _ in query.grid.stretches if first <= start)
    earlier = _moment(query.zone, start - (start - anchor) % step)
    return Reason(
        Code.OFF_GRID,
        f"Between two starts: they are {step // 60} min apart, counted from {_moment(query.zone, anchor)}",
        f"Choose {earlier}, or change the slot interval",
    )


def _out_of_office(query: SlotQuery, cause: int, _: int) -> Reason:
    away = query.setting.schedule.out_of_office[cause]
    span = floor_second(away.starts_at), ceil_second(away.ends_at)
    why = f" ({away.reason})" if away.reason else ""
    sentence = f"Out of office{why}, {_span(query.zone, span)}"
    return _with_span(Code.OUT_OF_OFFICE, sentence, "Shorten or remove the time out of office", span)


def _holiday(query: SlotQuery, cause: int, _: int) -> Reason:
    on = date_of(cause)
    name = find_holidays(query.setting.schedule, cause, cause)[cause]
    return Reason(Code.HOLIDAY, f"Public holiday on {on}: {name}", f"Add an override with hours for {on}")


def _window(query: SlotQuery, _: int, start: int) -> Reason:
    first, last = find_window(query)
    remedy = (
        "Move the booking window's first day" if local_day(query.zone, start) < first else "Lengthen the booking window"
    )
    return Reason(Code.WINDOW, f"Outside the booking window, {date_of(first)} to {date_of(last)}", remedy)


def _notice(query: SlotQuery, _: int, start: int) -> Reason:
    minutes = query.setting.event_type.min_notice_minutes
    span = query.now, query.now + minutes * 60
    remedy = f"Lower the minimum notice to {_length((start - query.now) // 60)} or less"
    return _with_span(
        Code.NOTICE, f"Notice of {_length(minutes)}: not before {_moment(query.zone, span[1])}", remedy, span
    )


def _day_limit(query: SlotQuery, cause: int, _: int) -> Reason:
    most, on = query.setting.event_type.limits.per_day, date_of(cause)
    return Reason(
        Code.DAY_LIMIT,
        f"Limit of {most} a day reached on {on}",
        f"Raise the limit per day, or cancel a booking on {on}",
    )


def _week_limit(query: SlotQuery, cause: int, _: int) -> Reason:
    most, on = query.setting.event_type.limits.per_week, date_of(cause)
    return Reason(
        Code.WEEK_LIMIT,
        f"Limit of {most} a week reached in the week of {on}",
        "Raise the limit per week, or cancel a booking of that week",
    )


def _full(query: SlotQuery, cause: int, _: int) -> Reason:
    claim, seats = query.setting.taken.claims[cause], query.setting.event_type.seats
    span = claim.start, claim.end
    return _with_span(Code.FULL, f"All {seats} seats are taken", "Add seats, or cancel a booking of this session", span)


def _taken(query: SlotQuery, cause: int, _: int) -> Reason:
    claim = query.setting.taken.claims[cause]
    span = claim.start, claim.end
    sentence = f"Taken by a {claim.kind}, {_span(query.zone, span)} with its buffers"
    return _with_span(Code.TAKEN, sentence, f"Move or cancel that {claim.kind}, or shorten the buffers", span)


def _busy(query: SlotQuery, cause: int, _: int) -> Reason:
    busy = query.setting.taken.busy[cause]
    if busy.is_unread:
        remedy = f"Reconnect {busy.source}, stop counting it as busy, or trust its last known times for longer"
        return Reason(Code.BUSY, f"{busy.source} has not been read for too long", remedy)
    span = busy.start, busy.end
    sentence = f"Busy in {busy.source}, {_span(query.zone, span)}"
    return _with_span(
        Code.BUSY, sentence, f"Move that event or show it as free in {busy.source}, or shorten the buffers", span
    )


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


def _with_span(code: Code, sentence: str, remedy: str, span: Span) -> Reason:
    return Reason(code, sentence, remedy, starts_at=at_second(span[0]), ends_at=at_second(span[1]))


def _span(zone: ZoneInfo, span: Span) -> str:
    """Write a span as the host's clock shows it, with dates only where it leaves its day."""
    start, end = (at_second(edge).astimezone(zone) for edge in span)
    if start.date() == end.date():
        return f"{start:%H:%M}{_TO}{end:%H:%M}"
    return f"{start:%Y-%m-%d %H:%M} {_TO} {end:%Y-%m-%d %H:%M}"


def _moment(zone: ZoneInfo, instant: int) -> str:
    return f"{at_second(instant).astimezone(zone):%Y-%m-%d %H:%M}"


def _length(minutes: int) -> str:
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (rest, "min")) if count]
    return " ".join(parts) or "0 min"
