"""The engine: which starts may be booked; what is listed and what is accepted are decided by the same rules."""

from datetime import date, datetime
from itertools import chain
from operator import itemgetter
from zoneinfo import ZoneInfo

from openslot.availability.closures import RULES, SlotQuery
from openslot.availability.grid import lay_grid, step_of
from openslot.availability.intervals import Interval, invert, pick_starts
from openslot.availability.models import Code, Days, SlotInputs, Slots
from openslot.core.times import (
    DAY,
    FIRST_YEAR,
    LAST_YEAR,
    ceil_second,
    date_of,
    day_number,
    floor_second,
    get_offsets,
    get_zone,
    local_day,
    spans_of_days,
)

_FIRST = itemgetter(0)
_KNOWN = (day_number(date(FIRST_YEAR, 1, 1)) * DAY, day_number(date(LAST_YEAR + 1, 1, 1)) * DAY)


def list_slots(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> Slots:
    """List every start that may be booked on some days of the viewer's calendar."""
    spans = spans_of(days, viewer)
    duration = inputs.event_type.duration_minutes * 60
    if not spans:
        return Slots([], duration)
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    closed = sorted(chain(invert(spans), *(close(query) for _, close in RULES)), key=_FIRST)
    starts = pick_starts(query.grid.stretches, closed, step=step_of(inputs.event_type))
    return Slots(starts, duration, _find_session_ends(inputs, duration))


def _find_session_ends(inputs: SlotInputs, duration: int) -> dict[int, int]:
    """Find the sessions that differ in length from their event type: an invitee who joins gets the session's end."""
    return {
        claim.session_start: claim.session_end
        for claim in inputs.taken.claims
        if claim.session_start is not None and claim.session_end not in {None, claim.session_start + duration}
    }


def judge(inputs: SlotInputs, starts_at: datetime) -> Code:
    """Return whether a start may be booked, or the first rule that forbids it."""
    if not is_askable(starts_at):
        return Code.OFF_GRID
    start = floor_second(starts_at)
    causes = find_causes(make_query(inputs, asked=(start, start + 1)), start)
    return causes[0][0] if causes else Code.OPEN


def is_askable(starts_at: datetime) -> bool:
    """Return whether an instant is a whole second of the years that are known."""
    return not starts_at.microsecond and _KNOWN[0] <= floor_second(starts_at) < _KNOWN[1]


def find_causes(query: SlotQuery, start: int) -> list[tuple[Code, int]]:
    """List every rule that closes a start, each with its cause, in the order in which they count."""
    causes = [(code, cause) for code, close in RULES for first, until, cause in close(query) if first <= start < until]
    fault = find_grid_fault(query, start)
    if fault is not None:
        causes.insert(1 if causes and causes[0][0] is Code.PAST else 0, (fault, 0))
    return causes


def find_grid_fault(query: SlotQuery, start: int) -> Code | None:
    """Return why the schedule's hours do not give a start, if they do not."""
    if not any(begin <= start and start + query.duration <= end for begin, end in query.grid.ranges):
        return Code.OUTSIDE_HOURS
    step = step_of(query.inputs.event_type)
    if any(anchor <= start < until and (start - anchor) % step == 0 for anchor, until in query.grid.stretches):
        return None
    return Code.OFF_GRID


def make_query(inputs: SlotInputs, *, asked: Interval) -> SlotQuery:
    """Lay out all that decides about the starts of a span."""
    event_type, schedule = inputs.event_type, inputs.schedule
    zone = get_zone(schedule.zone)
    duration = event_type.duration_minutes * 60
    first_day, last_day = local_day(zone, asked[0]), local_day(zone, asked[1] + duration) + 1
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    return SlotQuery(
        inputs=inputs,
        zone=zone,
        offsets=offsets,
        grid=lay_grid(schedule, offsets, first_day=first_day, last_day=last_day, duration=duration),
        asked=asked,
        now=ceil_second(inputs.now),
        today=local_day(zone, floor_second(inputs.now)),
        duration=duration,
        before=event_type.buffer_before * 60,
        after=event_type.buffer_after * 60,
    )


def spans_of(days: Days, zone: ZoneInfo) -> list[Interval]:
    """List when a zone's calendar shows some days, within the years that are known."""
    offsets = get_offsets(zone, days.first, days.last)
    spans = spans_of_days(offsets, day_number(days.first), day_number(days.last))
    clipped = [(max(start, _KNOWN[0]), min(end, _KNOWN[1])) for start, end in spans]
    return [(start, end) for start, end in clipped if start < end]
