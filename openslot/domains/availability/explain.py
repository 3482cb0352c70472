"""Why a start or a day is open or closed, derived from the same rules that decide it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import date, datetime

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.explanations import DayExplained, GroupExplained, HostOfDay, Reason, StartExplained
from openslot.domains.availability.free_hosts import (
    ask_host,
    find_free,
    find_working,
    join_sessions,
    list_session_hosts,
    list_wanted,
    make_query,
)
from openslot.domains.availability.grid import invert
from openslot.domains.availability.groups import find_fillable
from openslot.domains.availability.host_reasons import TOO_FEW_WORK, count_shortages, explain_group, give_shortage
from openslot.domains.availability.models import Code, Days, SlotInputs
from openslot.domains.availability.reasons import NEVER, give_day_reason, give_reason
from openslot.domains.availability.rules import HOST_RULES, OFFER_RULES, ORDER, Closed, SlotQuery, close_offer
from openslot.domains.availability.slots import find_causes, find_first, is_askable, judge_each, spans_of
from openslot.platform.core.times import at_second, floor_second, get_zone

_OF_CHOICE = frozenset({Code.OFF_GRID, Code.OUTSIDE_HOURS, Code.NO_HOSTS})
"""The rules that have other words if hosts are chosen."""


def explain_start(inputs: SlotInputs, starts_at: datetime) -> StartExplained:
    """Return every rule that closes a start, and what would open it; and who can be chosen, if hosts are."""
    if not is_askable(starts_at):
        return StartExplained(starts_at, Code.OFF_GRID, (NEVER,))
    start = floor_second(starts_at)
    return _explain(make_query(inputs, asked=(start, start + 1)), starts_at)


def explain_starts(inputs: SlotInputs, on: date) -> tuple[StartExplained, ...]:
    """Return for every start of one day's hours whether it is open, and the first rule that closes it."""
    day = _look_at_day(inputs, on)
    if day is None:
        return ()
    starts = day.query.grid.pick(day.given)
    if day.query.own is not None:
        # The rules are asked once for all starts: a day may have one each minute.
        firsts = {start: cause for cause, hit in reversed(_group_by_cause(day, starts).items()) for start in hit}
        return tuple(_tell_first(day.query, start, firsts.get(start)) for start in starts)
    explained = (_explain(day.query, at_second(start)) for start in starts)
    return tuple(replace(each, reasons=each.reasons[:1], groups=()) for each in explained)


def _tell_first(query: SlotQuery, start: int, first: tuple[Code, int] | None) -> StartExplained:
    if first is None:
        return StartExplained(at_second(start), Code.OPEN, ())
    code, cause = first
    return StartExplained(at_second(start), code, (give_reason(query, code, cause=cause, start=start),))


def explain_day(inputs: SlotInputs, on: date) -> DayExplained:
    """Return what closes the starts of one day of the calendar, and how many; and who is free, if hosts are chosen."""
    day = _look_at_day(inputs, on)
    if day is None:
        return DayExplained(on, starts=0, open=0, reasons=(NEVER,))
    query, given = day.query, day.given
    is_own = query.own is not None
    free = () if is_own else day.free.items()
    hosts = tuple(HostOfDay(inputs.hosts[no].name, (each & given).bit_count()) for no, each in free)
    if not given:
        reason = give_day_reason(query, on) if is_own else replace(TOO_FEW_WORK, closes=0)
        return DayExplained(on, starts=0, open=0, reasons=(reason,), hosts=hosts)
    among = given & ~query.grid.cover(close_offer(query))
    found = among & find_fillable(list_wanted(inputs), day.free)
    open_ = join_sessions(query, day.free, found, among=among)
    shortages = () if is_own else count_shortages(query, given, day.sessions, day.free)
    return DayExplained(on, given.bit_count(), open_.bit_count(), (*_count_rules(day), *shortages), hosts)


def _explain(query: SlotQuery, starts_at: datetime) -> StartExplained:
    start, is_own = floor_second(starts_at), query.own is not None
    hosts = judge_each(query, start)
    groups: tuple[GroupExplained, ...] = ()
    if not is_own:
        groups = tuple(explain_group(query, each, hosts, start) for each in query.inputs.groups)
    causes = find_causes(query, start, hosts)
    reasons: list[Reason] = []
    for code, cause in causes:
        if is_own or code not in _OF_CHOICE:
            reasons.append(give_reason(query, code, cause=cause, start=start))
        else:
            reasons += give_shortage(query, code, start, groups=groups, hosts=hosts)
    return StartExplained(starts_at, find_first(causes), tuple(reasons), groups)


class _Day(Struct, frozen=True):
    """One day of the calendar, as bits of its grid."""

    query: SlotQuery
    given: int
    """The starts at which enough hosts work, or a session is."""

    sessions: int
    free: Mapping[int, int]
    """When each host who may be chosen, or has a session, is free."""


def _look_at_day(inputs: SlotInputs, on: date) -> _Day | None:
    spans = spans_of(Days(on, on), get_zone(inputs.calendar.zone))
    if not spans:
        return None
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    groups, grid = list_wanted(inputs), query.grid
    able = frozenset[int]().union(*(group.hosts for group in groups))
    numbers = able | list_session_hosts(inputs) & inputs.hosts.keys()
    asked = grid.all & ~grid.cover(invert(spans))
    sessions = asked & grid.cover((start, start + 1) for start in inputs.sessions)
    working = find_fillable(groups, {no: find_working(query, inputs.hosts[no]) for no in sorted(able)})
    free = {no: find_free(query, inputs.hosts[no]) for no in sorted(numbers)}
    return _Day(query, asked & working | sessions, sessions, free)


def _count_rules(day: _Day) -> Iterator[Reason]:
    """Return how many starts each rule closes: whoever is free, and for the host whose own event type it is."""
    for (code, cause), hit in _group_by_cause(day, day.query.grid.pick(day.given)).items():
        yield replace(give_reason(day.query, code, cause=cause, start=hit[0]), closes=len(hit))


def _group_by_cause(day: _Day, starts: list[int]) -> dict[tuple[Code, int], list[int]]:
    """List the starts that each cause closes, in the order in which the rules count."""
    grouped: dict[tuple[Code, int], list[int]] = {}
    for code, closed in _list_closed(day.query):
        for first, until, cause in closed:
            hit = starts[bisect_left(starts, first) : bisect_left(starts, until)]
            if hit:
                grouped.setdefault((code, cause), []).extend(hit)
    return grouped


def _list_closed(query: SlotQuery) -> list[tuple[Code, list[Closed]]]:
    closed = [(code, close(query)) for code, close in OFFER_RULES]
    if query.own is not None:
        asked = ask_host(query, query.own)
        closed += [(code, close(asked)) for code, close in HOST_RULES]
    return sorted(closed, key=lambda each: ORDER[each[0]])
