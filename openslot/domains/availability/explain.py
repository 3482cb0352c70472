"""Why a start or a day is open or closed, derived from the same rules that decide it."""

from bisect import bisect_left
from datetime import date, datetime

from msgspec.structs import replace

from openslot.domains.availability.grid import invert, pick_starts, step_of
from openslot.domains.availability.models import Code, DayExplained, Days, SlotInputs, StartExplained
from openslot.domains.availability.reasons import NEVER, give_day_reason, give_reason
from openslot.domains.availability.slots import RULES, SlotQuery, find_causes, is_askable, make_query, spans_of
from openslot.domains.availability.team_explain import explain_team_day, explain_team_start, explain_team_starts
from openslot.platform.core.times import at_second, floor_second, get_zone


def explain_start(inputs: SlotInputs, starts_at: datetime) -> StartExplained:
    """Return every rule that closes a start, and what would open it."""
    if inputs.team is not None:
        return explain_team_start(inputs, starts_at)
    if not is_askable(starts_at):
        return StartExplained(starts_at, Code.OFF_GRID, (NEVER,))
    start = floor_second(starts_at)
    query = make_query(inputs, asked=(start, start + 1))
    causes = find_causes(query, start)
    reasons = tuple(give_reason(query, code, cause=cause, start=start) for code, cause in causes)
    return StartExplained(starts_at, causes[0][0] if causes else Code.OPEN, reasons)


def explain_day(inputs: SlotInputs, on: date) -> DayExplained:
    """Return what closes the starts of one day of the host's calendar, and how many each rule closes."""
    if inputs.team is not None:
        return explain_team_day(inputs, on)
    spans = spans_of(Days(on, on), get_zone(inputs.schedule.zone))
    if not spans:
        return DayExplained(on, starts=0, open=0, reasons=(NEVER,))
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    starts = pick_starts(query.grid.stretches, invert(spans), step=step_of(inputs.event_type))
    if not starts:
        return DayExplained(on, starts=0, open=0, reasons=(give_day_reason(query, on),))
    grouped = _group_by_cause(query, starts)
    closed = set[int]().union(*grouped.values())
    reasons = tuple(
        replace(give_reason(query, code, cause=cause, start=each[0]), closes=len(each))
        for (code, cause), each in grouped.items()
    )
    return DayExplained(on, starts=len(starts), open=len(starts) - len(closed), reasons=reasons)


def explain_starts(inputs: SlotInputs, on: date) -> tuple[StartExplained, ...]:
    """Return for every start of one day's hours whether it is open, and the first rule that closes it."""
    if inputs.team is not None:
        return explain_team_starts(inputs, on)
    spans = spans_of(Days(on, on), get_zone(inputs.schedule.zone))
    if not spans:
        return ()
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    starts = pick_starts(query.grid.stretches, invert(spans), step=step_of(inputs.event_type))
    firsts: dict[int, tuple[Code, int]] = {}
    for cause, closed in _group_by_cause(query, starts).items():
        for start in closed:
            firsts.setdefault(start, cause)
    return tuple(_tell_first(query, start, firsts.get(start)) for start in starts)


def _tell_first(query: SlotQuery, start: int, cause: tuple[Code, int] | None) -> StartExplained:
    if cause is None:
        return StartExplained(at_second(start), Code.OPEN, ())
    return StartExplained(at_second(start), cause[0], (give_reason(query, cause[0], cause=cause[1], start=start),))


def _group_by_cause(query: SlotQuery, starts: list[int]) -> dict[tuple[Code, int], list[int]]:
    grouped: dict[tuple[Code, int], list[int]] = {}
    for code, close in RULES:
        for first, until, cause in close(query):
            hit = starts[bisect_left(starts, first) : bisect_left(starts, until)]
            if hit:
                grouped.setdefault((code, cause), []).extend(hit)
    return grouped
