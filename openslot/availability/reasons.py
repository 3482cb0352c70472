"""The words for each rule that closes a start, and for what would open it."""

from collections.abc import Callable
from datetime import date, datetime
from zoneinfo import ZoneInfo

from openslot.availability.closures import SlotQuery, find_window
from openslot.availability.grid import find_holidays, step_of
from openslot.availability.intervals import Interval
from openslot.availability.models import ClaimKind, Code, Reason
from openslot.availability.wording import DayInWords, HoursInWords, LengthOfTime, LocalMoment, LocalSpan
from openslot.core.zones import at_second, ceil_second, date_of, floor_second, local_day
from openslot.i18n import Text
from openslot.schedules.rules import find_override, hours_on

NEVER = Reason(
    Code.OFF_GRID,
    Text("This time does not exist"),
    Text("Choose a whole minute on a date from 1970 to 2200"),
    closes=0,
)


def give_reason(query: SlotQuery, code: Code, *, cause: int, start: int) -> Reason:
    """Put a rule that closes a start into words."""
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
    schedule = query.inputs.schedule
    hours = HoursInWords(hours_on(schedule, on))
    if find_override(schedule, on) is not None:
        if not hours.hours:
            return Text("Outside hours: the override for %(day)s has no hours", day=on)
        return Text("Outside hours: the override for %(day)s has %(hours)s", day=on, hours=hours)
    if not hours.hours:
        return Text("Outside hours: %(day)s has no hours", day=DayInWords(on))
    return Text("Outside hours: %(day)s has %(hours)s", day=DayInWords(on), hours=hours)


def _off_grid(query: SlotQuery, __: int, start: int) -> Reason:
    step = step_of(query.inputs.event_type)
    anchor = max(first for first, _ in query.grid.stretches if first <= start)
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
    away = query.inputs.schedule.out_of_office[cause]
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
    name = find_holidays(query.inputs.schedule, cause, cause)[cause]
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
    most, on = query.inputs.event_type.limits.per_day, date_of(cause)
    return Reason(
        Code.DAY_LIMIT,
        Text("Limit of %(most)s a day reached on %(day)s", most=most, day=on),
        Text("Raise the limit per day, or cancel a booking on %(day)s", day=on),
    )


def _week_limit(query: SlotQuery, cause: int, _: int) -> Reason:
    most, on = query.inputs.event_type.limits.per_week, date_of(cause)
    return Reason(
        Code.WEEK_LIMIT,
        Text("Limit of %(most)s a week reached in the week of %(day)s", most=most, day=on),
        Text("Raise the limit per week, or cancel a booking of that week"),
    )


def _full(query: SlotQuery, cause: int, _: int) -> Reason:
    claim, seats = query.inputs.taken.claims[cause], query.inputs.event_type.seats
    span = claim.start, claim.end
    sentence = Text("All %(seats)s seats are taken", seats=seats)
    return _with_span(Code.FULL, sentence, Text("Add seats, or cancel a booking of this session"), span)


def _taken(query: SlotQuery, cause: int, _: int) -> Reason:
    claim = query.inputs.taken.claims[cause]
    span = claim.start, claim.end
    when = _span(query.zone, span)
    # Each sentence is written out, so that `make messages` finds it.
    if claim.kind == ClaimKind.HOLD:
        sentence = Text("Temporarily held by another visitor, %(span)s including buffers", span=when)
        remedy = Text("Wait for the hold to expire, or shorten the buffers")
    elif claim.kind == ClaimKind.SESSION:
        sentence = Text("Taken by a session, %(span)s including buffers", span=when)
        remedy = Text("Reschedule or cancel that session, or shorten the buffers")
    else:
        sentence = Text("Taken by a booking, %(span)s including buffers", span=when)
        remedy = Text("Reschedule or cancel that booking, or shorten the buffers")
    return _with_span(Code.TAKEN, sentence, remedy, span)


def _busy(query: SlotQuery, cause: int, _: int) -> Reason:
    busy = query.inputs.taken.busy[cause]
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


def _with_span(code: Code, sentence: Text, remedy: Text, span: Interval) -> Reason:
    return Reason(code, sentence, remedy, starts_at=at_second(span[0]), ends_at=at_second(span[1]))


def _span(zone: ZoneInfo, span: Interval) -> LocalSpan:
    """Write a span as the host's clock shows it, with dates only where it leaves its day."""
    return LocalSpan(_local(zone, span[0]), _local(zone, span[1]))


def _moment(zone: ZoneInfo, instant: int) -> LocalMoment:
    return LocalMoment(_local(zone, instant))


def _local(zone: ZoneInfo, instant: int) -> datetime:
    return at_second(instant).astimezone(zone).replace(tzinfo=None)
