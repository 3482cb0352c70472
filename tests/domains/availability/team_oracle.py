"""A second opinion on a team's starts: every way to assign hosts is tried, sharing no code with the engine."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from zoneinfo import ZoneInfo

from tests.domains.availability.oracle import DAY, EPOCH, Minutes, first_minute, is_marked, read_clock

AROUND = 3


@dataclass(frozen=True)
class HostCase:
    """A host in plain values; instants are minutes since 1970 in UTC, hours are minutes after midnight."""

    zone: str
    weekly: tuple[tuple[Minutes, ...], ...]
    overrides: dict[date, tuple[Minutes, ...]] = field(default_factory=dict)
    away: tuple[Minutes, ...] = ()
    holidays: frozenset[date] = frozenset()
    claims: tuple[Minutes, ...] = ()
    busy: tuple[Minutes, ...] = ()
    booked: tuple[int, ...] = ()
    booked_in_all: tuple[int, ...] = ()


@dataclass(frozen=True)
class Member:
    host: int
    weight: int = 100
    priority: int = 2
    served: int = 0


@dataclass(frozen=True)
class SessionCase:
    start: int
    hosts: frozenset[int]
    left: int


@dataclass(frozen=True)
class TeamCase:
    zone: str
    viewer: str
    first: date
    last: date
    now: int
    hosts: tuple[HostCase, ...]
    groups: tuple[tuple[int, tuple[Member, ...]], ...]
    max_lead: int | None = None  # with the balance "total"
    duration: int = 30
    before: int = 0
    after: int = 0
    interval: int | None = None
    notice: int = 0
    window: tuple[str, int] | tuple[date, date] = ("rolling", 60)
    limits: tuple[int | None, int | None] = (None, None)  # per day and week, as all below
    host_limits: tuple[int | None, int | None] = (None, None)
    host_limits_in_all: tuple[int | None, int | None] = (None, None)
    booked: tuple[int, ...] = ()
    sessions: tuple[SessionCase, ...] = ()


@dataclass(frozen=True)
class TeamOpinion:
    grid: list[int]
    """The starts of the asked days."""

    free: dict[int, frozenset[int]]
    """Who is free at each of them."""

    able: list[frozenset[int]]
    """Who of each group may be chosen at all."""

    open: list[int]


def consult_team(case: TeamCase) -> TeamOpinion:
    grid = list(list_lattice(case))
    working = [mark_hours(case, host) for host in case.hosts]
    free = {
        at: frozenset(
            no
            for no, host in enumerate(case.hosts)
            if is_free(case, host, working[no], at)
            and (has_session(case, no, at) or (is_untaken(case, no, at) and is_within(case, no, at)))
        )
        for at in grid
    }
    first, last = find_window(case)
    judged = {
        at: at >= case.now + case.notice
        and first <= date_of(case.zone, at) <= last
        and counts_allow(case.zone, at, case.booked, case.limits)
        for at in grid
    }
    able = [list_able(members, case.max_lead) for _, members in case.groups]
    picks = [pick for pick, _ in case.groups]
    opened = [at for at in grid if judged[at] and can_host(case, at, picks, able, free[at])]
    return TeamOpinion(grid, free, able, opened)


def can_host(case: TeamCase, at: int, picks: list[int], able: list[frozenset[int]], free: frozenset[int]) -> bool:
    """Tell whether a session has a seat and its hosts, or else hosts can be had."""
    for session in case.sessions:
        if session.start == at:
            return session.left > 0 and session.hosts <= free
    return can_serve(picks, [each & free for each in able])


def has_session(case: TeamCase, no: int, at: int) -> bool:
    return any(each.start == at and no in each.hosts for each in case.sessions)


def is_untaken(case: TeamCase, no: int, at: int) -> bool:
    begin, end = at - case.before, at + case.duration + case.after
    sessions = [each.start for each in case.sessions if no in each.hosts]
    own = [(start - case.before, start + case.duration + case.after) for start in sessions]
    return not any(start < end and until > begin for start, until in (*case.hosts[no].claims, *own))


def list_lattice(case: TeamCase) -> Iterator[int]:
    """Count steps from the first minute of each day of the team's calendar to that of the next."""
    viewer, step = ZoneInfo(case.viewer), case.interval or case.duration
    for day in range((case.first - EPOCH).days - AROUND, (case.last - EPOCH).days + AROUND):
        for at in range(first_minute(case.zone, day * DAY), first_minute(case.zone, (day + 1) * DAY), step):
            if case.first <= datetime.fromtimestamp(at * 60, viewer).date() <= case.last:
                yield at


def base_of(case: TeamCase) -> int:
    return ((case.first - EPOCH).days - AROUND) * DAY


def mark_hours(case: TeamCase, host: HostCase) -> bytearray:
    """Mark the minutes in which a host works, public holidays left out."""
    base = base_of(case)
    minutes = bytearray(((case.last - case.first).days + 1 + 2 * AROUND) * DAY)
    for number in range(-1, len(minutes) // DAY + 1):
        day = base // DAY + number
        on = EPOCH + timedelta(days=day)
        if on in host.holidays and not host.overrides.get(on):
            continue
        for opens, closes in host.overrides.get(on, host.weekly[on.weekday()]):
            start = max(first_minute(host.zone, day * DAY + opens) - base, 0)
            end = min(first_minute(host.zone, day * DAY + closes) - base, len(minutes))
            if start < end:
                minutes[start:end] = b"\1" * (end - start)
    return minutes


def is_free(case: TeamCase, host: HostCase, working: bytearray, at: int) -> bool:
    if not is_marked(working, at - base_of(case), at - base_of(case) + case.duration):
        return False
    end = at + case.duration
    if any(start < end and until > at for start, until in host.away):
        return False
    begin, end = at - case.before, end + case.after
    return not any(start < end and until > begin for start, until in host.busy)


def is_within(case: TeamCase, no: int, at: int) -> bool:
    """Tell whether a host's limits, counted in the team's calendar, allow one more."""
    host, sessions = case.hosts[no], tuple(each.start for each in case.sessions if no in each.hosts)
    return counts_allow(case.zone, at, (*host.booked, *sessions), case.host_limits) and counts_allow(
        case.zone, at, (*host.booked_in_all, *sessions), case.host_limits_in_all
    )


def counts_allow(zone: str, at: int, booked: tuple[int, ...], limits: tuple[int | None, int | None]) -> bool:
    per_day, per_week = limits
    if (per_day is None and per_week is None) or not booked:
        return True
    on = date_of(zone, at)
    days = [date_of(zone, start) for start in booked]
    same_week = sum(each.isocalendar()[:2] == on.isocalendar()[:2] for each in days)
    return (per_day is None or days.count(on) < per_day) and (per_week is None or same_week < per_week)


@lru_cache(maxsize=100_000)
def date_of(zone: str, minute: int) -> date:
    return EPOCH + timedelta(days=read_clock(zone, minute) // DAY)


def find_window(case: TeamCase) -> tuple[date, date]:
    kind, extent = case.window
    if isinstance(kind, date) and isinstance(extent, date):
        return kind, extent
    assert isinstance(extent, int)
    today = date_of(case.zone, case.now)
    if kind == "rolling":
        return today, today + timedelta(days=extent)
    later = (today + timedelta(days=n) for n in range(1, 3 * extent + 7))
    return today, [today, *(each for each in later if each.isoweekday() < 6)][extent]


def list_able(members: tuple[Member, ...], max_lead: int | None) -> frozenset[int]:
    """List who may be chosen at all: nobody without a weight, and nobody who is too far ahead of their like."""
    able = [each for each in members if each.weight]
    if max_lead is None:
        return frozenset(each.host for each in able)

    def lead(member: Member) -> Fraction:
        level = min(Fraction(each.served, each.weight) for each in able if each.priority == member.priority)
        return member.served - member.weight * level

    return frozenset(each.host for each in able if lead(each) <= max_lead)


def can_serve(picks: list[int], able: list[frozenset[int]]) -> bool:
    """Try every way to give each group its hosts, nobody to two of them."""
    if not picks:
        return True
    return any(
        can_serve(picks[1:], [each.difference(chosen) for each in able[1:]])
        for chosen in combinations(sorted(able[0]), picks[0])
    )
