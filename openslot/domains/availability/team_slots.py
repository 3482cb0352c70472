"""The engine for teams: at which starts enough hosts are free, as bits over one grid of the team's calendar."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.grid import Grid, Interval, invert, list_open_hours, step_of
from openslot.domains.availability.groups import HostsWanted, can_fill, find_fillable
from openslot.domains.availability.models import Code, Days, HostInputs, SlotInputs, Slots, Taken, TeamInputs
from openslot.domains.availability.slots import (
    RULES,
    Closed,
    SlotQuery,
    close_busy,
    close_claims,
    close_days,
    close_holidays,
    close_out_of_office,
    close_weeks,
    find_session_ends,
    is_askable,
    leave_sessions,
    make_query,
    spans_of,
)
from openslot.domains.availability.team_grid import TeamGrid, lay_team_grid
from openslot.domains.schedules.models import Schedule
from openslot.domains.teams.choice import list_eligible
from openslot.domains.teams.models import TeamSession
from openslot.platform.core.times import ceil_second, date_of, floor_second, get_offsets, get_zone, local_day

TEAM_RULES = tuple(
    (code, close)
    for code, close in RULES
    if code in {Code.PAST, Code.WINDOW, Code.NOTICE, Code.DAY_LIMIT, Code.WEEK_LIMIT, Code.FULL}
)
"""The rules that are judged once for all hosts, in the team's calendar."""

NOBODY = UUID(int=0)
"""The owner of hours that many hosts share: their owner does not matter."""

_NO_GRID = Grid([], [], [])


class TeamQuery(Struct, frozen=True):
    """A team's event type with all times as numbers, and the starts that are asked for."""

    team: TeamInputs
    whole: SlotQuery
    """The query that is judged once for all hosts; it has no hours."""

    grid: TeamGrid


class HostQuery(Struct, frozen=True):
    """One host of a team: what is judged in the team's calendar, and what in their own."""

    host: HostInputs
    query: TeamQuery
    own: SlotQuery


def close_host_days(query: HostQuery) -> list[Closed]:
    """Close the team's days on which a host has as many bookings as they may have; the cause is the day number."""
    host, rules, whole = query.host, query.query.team.rules, query.query.whole
    closed = [
        *close_days(whole, host.taken.booked, rules.host_per_day),
        *close_days(whole, host.booked_in_all, rules.host_total_per_day),
    ]
    return leave_sessions(closed, host.taken.claims)


def close_host_weeks(query: HostQuery) -> list[Closed]:
    """Close the team's weeks in which a host has as many bookings as they may have; the cause is Monday's number."""
    host, rules, whole = query.host, query.query.team.rules, query.query.whole
    closed = [
        *close_weeks(whole, host.taken.booked, rules.host_per_week),
        *close_weeks(whole, host.booked_in_all, rules.host_total_per_week),
    ]
    return leave_sessions(closed, host.taken.claims)


HOST_RULES: tuple[tuple[Code, Callable[[HostQuery], list[Closed]]], ...] = (
    (Code.OUT_OF_OFFICE, lambda query: close_out_of_office(query.own)),
    (Code.HOLIDAY, lambda query: close_holidays(query.own)),
    (Code.DAY_LIMIT, close_host_days),
    (Code.WEEK_LIMIT, close_host_weeks),
    (Code.TAKEN, lambda query: close_claims(query.own)),
    (Code.BUSY, lambda query: close_busy(query.own)),
)


def list_team_slots(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> Slots:
    """List the starts at which every group has enough free hosts, or a session has seats left."""
    spans, duration = spans_of(days, viewer), int(inputs.duration.total_seconds())
    if not spans:
        return Slots([], duration)
    query = make_team_query(inputs, asked=(spans[0][0], spans[-1][1]))
    starts = query.grid.list_starts(_find_open(query, spans))
    return Slots(starts, duration, find_session_ends(inputs, duration))


def find_askable(query: TeamQuery, asked: Sequence[Interval]) -> int:
    """Find the bits of the starts in some spans that are open if hosts are free."""
    closed = close_for_team(query)
    for first, until in invert(list(asked)):
        closed |= query.grid.between(first, until)
    return query.grid.starts & ~closed


def list_team_taken(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> list[int]:
    """List the starts that are closed only because others have taken the time of hosts, or their limits."""
    team = get_team(inputs)
    hosts = {no: replace(host, taken=Taken(busy=host.taken.busy), booked_in_all=()) for no, host in team.hosts.items()}
    free = replace(inputs, taken=Taken(), team=replace(team, hosts=hosts, sessions={}))
    is_open = set(list_team_slots(inputs, days, viewer=viewer).starts)
    return [start for start in list_team_slots(free, days, viewer=viewer).starts if start not in is_open]


def judge_team(inputs: SlotInputs, starts_at: datetime, *, judged: Mapping[int, Code] | None = None) -> Code:
    """Return whether a start may be booked, or the first rule that forbids it; its hosts may be judged before."""
    if not is_askable(starts_at):
        return Code.OFF_GRID
    start = floor_second(starts_at)
    query = make_team_query(inputs, asked=(start, start + 1))
    causes = find_team_causes(query, start, judge_hosts(inputs, starts_at) if judged is None else judged)
    return causes[0][0] if causes else Code.OPEN


def judge_hosts(inputs: SlotInputs, starts_at: datetime) -> dict[int, Code]:
    """Return by their numbers whether hosts are free for a meeting, or the first rule that forbids it."""
    start = floor_second(starts_at)
    query = make_team_query(inputs, asked=(start, start + 1))
    judged: dict[int, Code] = {}
    for no, host in query.team.hosts.items():
        causes = find_host_causes(ask_host(query, host), start)
        judged[no] = causes[0][0] if causes else Code.OPEN
    return judged


def list_free_hosts(inputs: SlotInputs, starts_at: datetime) -> set[int]:
    """List the numbers of hosts who are free for a meeting, as `judge_hosts` does, without a reason for the others."""
    _, free = judge_free(inputs, starts_at)
    return free


def judge_free(inputs: SlotInputs, starts_at: datetime) -> tuple[bool, set[int]]:
    """Return whether a start may be booked, and who is free then: why others are not is not asked."""
    start = floor_second(starts_at)
    query = make_team_query(inputs, asked=(start, start + 1))
    bit, rest = divmod(start - query.grid.first, query.grid.unit)
    if rest:
        free = {no for no, code in judge_hosts(inputs, starts_at).items() if code is Code.OPEN}
    else:
        free = {
            no
            for no, host in query.team.hosts.items()
            if _find_worked_by(query, host) >> bit & 1
            and not any(first <= start < until for first, until, _ in _close_host(query, host))
        }
    return not find_team_causes(query, start, dict.fromkeys(free, Code.OPEN)), free


def find_team_causes(query: TeamQuery, start: int, judged: Mapping[int, Code]) -> list[tuple[Code, int]]:
    """List every rule that closes a start for the whole team, each with its cause, in the order in which they count."""
    causes: list[tuple[Code, int]] = [
        (code, cause)
        for code, close in TEAM_RULES
        for first, until, cause in close(query.whole)
        if first <= start < until
    ]
    first = 1 if causes and causes[0][0] is Code.PAST else 0
    if not query.grid.has(start):
        causes.insert(first, (Code.OFF_GRID, 0))
    session = query.team.sessions.get(start)
    missing = _find_missing(query.team, judged) if session is None else _find_absent(session, judged)
    if missing is Code.OUTSIDE_HOURS:
        causes.insert(first, (missing, 0))
    elif missing is not None:
        causes.append((missing, 0))
    return causes


def _find_missing(team: TeamInputs, judged: Mapping[int, Code]) -> Code | None:
    """Return why the groups can't have their hosts: too few are free, or too few work at that time at all."""
    free = {no for no, code in judged.items() if code is Code.OPEN}
    if can_fill(list_wanted(team, among=free)):
        return None
    working = {no for no, code in judged.items() if code is not Code.OUTSIDE_HOURS}
    is_working = can_fill(list_wanted(team, among=working)) or not can_fill(list_wanted(team))
    return Code.NO_HOSTS if is_working else Code.OUTSIDE_HOURS


def _find_absent(session: TeamSession, judged: Mapping[int, Code]) -> Code | None:
    """Return why nobody can join a session: one of its hosts would not be free for it by now."""
    return None if all(judged.get(no) is Code.OPEN for no in session.hosts) else Code.NO_HOSTS


def find_host_causes(query: HostQuery, start: int) -> list[tuple[Code, int]]:
    """List every rule that closes a start for one host, each with its cause, in the order in which they count."""
    ranges, end = query.own.grid.ranges, start + query.own.duration
    closed = [] if any(begin <= start and end <= until for begin, until in ranges) else [(Code.OUTSIDE_HOURS, 0)]
    return closed + [
        (code, cause) for code, close in HOST_RULES for first, until, cause in close(query) if first <= start < until
    ]


def list_wanted(team: TeamInputs, *, among: Iterable[int] | None = None) -> list[HostsWanted]:
    """List how many hosts each group needs, and who may be chosen: all who are eligible, or some of them."""
    hosts = team.hosts.keys() if among is None else frozenset(among)
    return [
        HostsWanted(
            each.group.pick,
            frozenset(one.host_no for one in list_eligible(each.candidates, rules=team.rules) if one.host_no in hosts),
        )
        for each in team.groups
    ]


def make_team_query(inputs: SlotInputs, *, asked: Interval) -> TeamQuery:
    """Lay out all that decides about the starts of a span for all hosts."""
    event_type, zone = inputs.event_type, get_zone(inputs.schedule.zone)
    # A clock that is turned back at midnight shows the end of a day after the next one has begun.
    first_day, last_day = local_day(zone, asked[0]) - 1, local_day(zone, asked[1]) + 1
    whole = SlotQuery(
        inputs=inputs,
        zone=zone,
        offsets=get_offsets(zone, date_of(first_day), date_of(last_day)),
        grid=_NO_GRID,
        asked=asked,
        now=ceil_second(inputs.now),
        today=local_day(zone, floor_second(inputs.now)),
        duration=int(inputs.duration.total_seconds()),
        before=event_type.buffer_before * 60,
        after=event_type.buffer_after * 60,
    )
    return TeamQuery(get_team(inputs), whole, lay_team_grid(zone, first_day, last_day, step_of(event_type)))


def ask_host(query: TeamQuery, host: HostInputs) -> HostQuery:
    """Lay out all that decides about the asked starts for one host."""
    inputs = replace(query.whole.inputs, schedule=host.schedule, taken=host.taken, team=None)
    return HostQuery(host, query, make_query(inputs, asked=query.whole.asked))


def get_team(inputs: SlotInputs) -> TeamInputs:
    if inputs.team is None:
        raise TypeError("the event type has no team")
    return inputs.team


def _find_open(query: TeamQuery, asked: Sequence[Interval]) -> int:
    open_ = find_askable(query, asked)
    if not open_:
        return 0
    groups, free = list_wanted(query.team), _Bits(query, find_free)
    # When enough hosts work is soon found. Of many who are free then the first ones are enough.
    found = open_ & find_fillable(groups, _Bits(query, find_working))
    found = find_fillable(groups, free, among=found) if found else 0
    hosting = {no: free[no] for no in list_session_hosts(query.team) if no in query.team.hosts}
    return join_sessions(query, hosting, found, among=open_)


def list_session_hosts(team: TeamInputs) -> frozenset[int]:
    """List those who have a session, and could be chosen for one."""
    able = {each.host_no for group in team.groups for each in group.candidates}
    return frozenset(no for each in team.sessions.values() for no in each.hosts if no in able)


def join_sessions(query: TeamQuery, free: Mapping[int, int], found: int, *, among: int) -> int:
    """Find at which of some starts hosts can be had: those of its session, or else enough of every group."""
    for start, session in query.team.sessions.items():
        bit = query.grid.between(start, start + 1)
        can_join = all(free.get(no, 0) & bit for no in session.hosts)
        found = found | bit & among if can_join else found & ~bit
    return found


class _Bits(dict[int, int]):
    """Bits of each host, found when they are asked for."""

    def __init__(self, query: TeamQuery, find: Callable[[TeamQuery, HostInputs], int]) -> None:
        super().__init__()
        self.query, self.find = query, find

    def __missing__(self, no: int) -> int:
        found = self[no] = self.find(self.query, self.query.team.hosts[no])
        return found


def close_for_team(query: TeamQuery) -> int:
    """Find the bits that are closed whoever is free."""
    closed = 0
    for _, close in TEAM_RULES:
        for first, until, _ in close(query.whole):
            closed |= query.grid.between(first, until)
    return closed


def find_free(query: TeamQuery, host: HostInputs) -> int:
    """Find the bits of the instants at which a host could begin a meeting."""
    closed, worked = _close_host(query, host), _find_worked_by(query, host)
    return worked & ~query.grid.cover(closed) if closed else worked


def _close_host(query: TeamQuery, host: HostInputs) -> list[Closed]:
    """List what is closed of a host's hours.

    The query has none: these, and the holidays in them, are found for all hosts that have the same.
    """
    whole = query.whole
    inputs = SlotInputs(
        event_type=whole.inputs.event_type, schedule=host.schedule, taken=host.taken, now=whole.inputs.now
    )
    asked = HostQuery(host, query, replace(whole, inputs=inputs))
    return [span for _, close in HOST_RULES for span in close(asked)]


def _find_worked_by(query: TeamQuery, host: HostInputs) -> int:
    return find_worked(query.grid, _as_hours(host.schedule), query.whole.duration)


def find_working(query: TeamQuery, host: HostInputs) -> int:
    """Find the bits of the instants at which a host's hours give a meeting its whole time, holidays or not."""
    hours = replace(_as_hours(host.schedule), holidays=None)
    return find_worked(query.grid, hours, query.whole.duration)


def _as_hours(schedule: Schedule) -> Schedule:
    """Leave out what differs from host to host."""
    return replace(schedule, id=NOBODY, owner_id=NOBODY, name="", out_of_office=())


# benchmarks/caches.py: find when a team's host works, once for all with the same hours, 270 times
@lru_cache(maxsize=4096)
def find_worked(grid: TeamGrid, schedule: Schedule, duration: int) -> int:
    """Find the bits of the instants at which hours give a meeting its whole time; a process keeps them."""
    zone = get_zone(schedule.zone)
    first_day, last_day = local_day(zone, grid.first), local_day(zone, grid.end + duration) + 1
    hours = list_open_hours(schedule, first_day, last_day)
    return grid.cover((first, until - duration + 1) for first, until in hours)
