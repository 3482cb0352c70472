"""Questions to the engine for teams: drawn at random for the oracle, and told in the engine's words."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from uuid import UUID

from openslot.domains.availability.models import (
    Busy,
    ChoiceInputs,
    Claim,
    GroupInputs,
    GroupSession,
    HostInputs,
    SlotInputs,
    Taken,
)
from openslot.domains.event_types.models import BookingWindow, BusinessDaysWindow, Limits, RangeWindow, RollingWindow
from openslot.domains.schedules.models import DateOverride, OutOfOffice, TimeRange
from openslot.domains.teams.models import Balance, Candidate, HostGroup, TeamRules
from tests.domains.availability.cases import (
    COUNTRY,
    ID,
    ZONES,
    bavarian_holidays,
    days_of_change,
    draw_hours,
    draw_week,
    every_day,
    make_event_type,
    make_schedule,
    make_session,
)
from tests.domains.availability.oracle import DAY, EPOCH, Minutes
from tests.domains.availability.team_oracle import HostCase, Member, SessionCase, TeamCase, list_lattice

ALL_DAY = every_day(TimeRange(0, DAY))
TEAM_ZONES = (*ZONES, "Asia/Kolkata")


def as_team(case: TeamCase) -> SlotInputs:
    """Tell a plain case in the engine's words; hosts have the numbers 1, 2 and so on."""
    event_type = make_event_type(
        case.duration,
        buffer_before=case.before,
        buffer_after=case.after,
        slot_interval_minutes=case.interval,
        min_notice_minutes=case.notice,
        booking_window=_window(case),
        limits=Limits(*case.limits),
        team_id=ID,
    )
    rules = TeamRules(
        event_type_id=ID,
        balance=Balance.SHARE if case.max_lead is None else Balance.TOTAL,
        max_lead=case.max_lead,
        host_per_day=case.host_limits[0],
        host_per_week=case.host_limits[1],
        host_total_per_day=case.host_limits_in_all[0],
        host_total_per_week=case.host_limits_in_all[1],
    )
    return SlotInputs(
        event_type=event_type,
        calendar=make_schedule(case.zone, ALL_DAY),
        now=_at(case.now),
        groups=tuple(_as_group(place, *each) for place, each in enumerate(case.groups)),
        hosts={no: _as_host(case, no, host) for no, host in enumerate(case.hosts, 1)},
        sessions={each.start * 60: _as_session(case, each) for each in case.sessions},
        booked=[start * 60 for start in case.booked],
        choice=ChoiceInputs(rules=rules),
    )


def _as_group(place: int, pick: int, members: tuple[Member, ...]) -> GroupInputs:
    candidates = tuple(
        Candidate(
            host_no=each.host + 1,
            user_id=UUID(int=each.host + 1),
            weight=each.weight,
            priority=each.priority,
            served=each.served,
        )
        for each in members
    )
    group = HostGroup(id=UUID(int=place), event_type_id=ID, position=place, pick=pick)
    return GroupInputs(group=group, candidates=candidates)


def _as_session(case: TeamCase, session: SessionCase) -> GroupSession:
    end = session.start + case.duration
    return make_session(
        (session.start - case.before) * 60,
        (end + case.after) * 60,
        end=end * 60,
        seats_left=session.left,
        hosts=(no + 1 for no in session.hosts),
    )


def _as_host(case: TeamCase, no: int, host: HostCase) -> HostInputs:
    schedule = make_schedule(
        host.zone,
        tuple(tuple(TimeRange(*each) for each in hours) for hours in host.weekly),  # type: ignore[arg-type]
        overrides=tuple(DateOverride(on, tuple(TimeRange(*each) for each in h)) for on, h in host.overrides.items()),
        out_of_office=tuple(OutOfOffice(_at(start), _at(end)) for start, end in host.away),
        holidays=COUNTRY if host.holidays else None,
    )
    sessions = {each.start * 60: _as_session(case, each) for each in case.sessions if no - 1 in each.hosts}
    marks = [Claim(each.taken_from, each.taken_until, session_start=start) for start, each in sessions.items()]
    taken = Taken(
        claims=[*(Claim(start * 60, end * 60) for start, end in host.claims), *marks],
        busy=[Busy(start * 60, end * 60) for start, end in host.busy],
        booked=[*(start * 60 for start in host.booked), *sessions],
    )
    return HostInputs(
        host_no=no,
        name=f"Host {no}",
        schedule=schedule,
        taken=taken,
        booked_in_all=[*(start * 60 for start in host.booked_in_all), *sessions],
    )


def _window(case: TeamCase) -> BookingWindow:
    kind, extent = case.window
    if isinstance(kind, date) and isinstance(extent, date):
        return RangeWindow(kind, extent)
    assert isinstance(extent, int)
    return RollingWindow(extent) if kind == "rolling" else BusinessDaysWindow(extent)


def _at(minute: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)


def draw_team_case(chance: Random) -> TeamCase:
    """Draw a question near a change of the team's or a host's clocks."""
    zone = chance.choice(TEAM_ZONES)
    turned = chance.choice([zone, zone, chance.choice(TEAM_ZONES)])
    first = chance.choice(days_of_change(turned)) + timedelta(days=chance.randint(-1, 1))
    days = chance.randint(1, 2)
    base = (first - EPOCH).days * DAY
    hosts = tuple(_draw_host(chance, zone, first, days) for _ in range(chance.randint(0, 5)))
    near = first + timedelta(days=chance.randint(-1, 1))
    windows: list[tuple[str, int] | tuple[date, date]] = [("rolling", 60), ("rolling", 60), ("businessDays", 3)]
    case = TeamCase(
        zone=zone,
        viewer=chance.choice([zone, chance.choice(TEAM_ZONES)]),
        first=first,
        last=first + timedelta(days=days - 1),
        now=chance.choice([base - 3 * DAY, base - 3 * DAY, base + chance.randint(0, 100) * 15]),
        hosts=hosts,
        groups=tuple(_draw_group(chance, len(hosts)) for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3, 4]))),
        max_lead=chance.choice([None, None, 0, 1, 3]),
        duration=chance.choice([15, 30, 45, 60, 20, 90, 240]),
        before=chance.choice([0, 0, 10, 60]),
        after=chance.choice([0, 0, 5, 30]),
        interval=chance.choice([None, None, 15, 30, 50, 45, 7]),
        notice=chance.choice([0, 0, 0, 125, 3 * DAY]),
        window=chance.choice([*windows, (near, near + timedelta(days=1))]),
        limits=_draw_limits(chance),
        host_limits=_draw_limits(chance),
        host_limits_in_all=_draw_limits(chance),
        booked=tuple(_draw_instants(chance, base, days, 3)),
    )
    return _draw_sessions(chance, case) if hosts and chance.random() < 0.3 else case


def _draw_sessions(chance: Random, case: TeamCase) -> TeamCase:
    """Let some starts have sessions whose hosts have nothing else at that time, as the database assures."""
    grid, sessions = list(list_lattice(case)), list[SessionCase]()
    apart = case.before + case.duration + case.after
    for start in chance.sample(grid, min(len(grid), 3)):
        taken = {no for each in sessions if abs(each.start - start) < apart for no in each.hosts}
        free = sorted({each.host for _, members in case.groups for each in members} - taken)
        hosts = frozenset(chance.sample(free, chance.randint(min(1, len(free)), len(free))))
        if hosts:
            sessions.append(SessionCase(start, hosts, chance.choice([0, 1, 4])))
    have = frozenset[int]().union(*(each.hosts for each in sessions))
    idle = tuple(replace(host, claims=()) if no in have else host for no, host in enumerate(case.hosts))
    return replace(case, hosts=idle, sessions=tuple(sessions))


def _draw_host(chance: Random, zone: str, first: date, days: int) -> HostCase:
    base = (first - EPOCH).days * DAY

    def spans(max_: int) -> tuple[Minutes, ...]:
        starts = _draw_instants(chance, base, days, max_)
        return tuple(
            (start, start + chance.choice([chance.randint(1, 24), chance.randint(1, 200)]) * 5) for start in starts
        )

    booked = tuple(_draw_instants(chance, base, days, 2))
    return HostCase(
        zone=chance.choice([zone, chance.choice(TEAM_ZONES)]),
        weekly=draw_week(chance),
        overrides={
            first + timedelta(days=chance.randint(-1, days)): draw_hours(chance) for _ in range(chance.randint(0, 1))
        },
        away=chance.choice([(), (), spans(1)]),
        holidays=chance.choice([frozenset(), frozenset(), bavarian_holidays()]),
        claims=chance.choice([(), spans(3)]),
        busy=chance.choice([(), spans(3)]),
        booked=booked,
        booked_in_all=(*booked, *_draw_instants(chance, base, days, 1)),
    )


def _draw_group(chance: Random, hosts: int) -> tuple[int, tuple[Member, ...]]:
    chosen = chance.sample(range(hosts), chance.randint(min(1, hosts), hosts))
    members = tuple(
        Member(no, chance.choice([100, 100, 50, 0]), chance.choice([2, 2, 2, 3]), chance.randint(0, 3)) for no in chosen
    )
    return chance.choice([1, 1, 1, 2, len(chosen) or 1]), members


def _draw_limits(chance: Random) -> tuple[int | None, int | None]:
    return chance.choice([None, None, None, 1, 2]), chance.choice([None, None, None, 2])


def _draw_instants(chance: Random, base: int, days: int, max_: int) -> list[int]:
    return [base + chance.randint(-DAY // 5, (days + 1) * DAY // 5) * 5 for _ in range(chance.randint(0, max_))]
