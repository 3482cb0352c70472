"""Why a start of a team's event type is open or closed: for the whole team, for each group and for each host."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.availability.grid import step_of
from openslot.domains.availability.groups import count_at_least, find_fillable
from openslot.domains.availability.models import (
    Code,
    DayExplained,
    Days,
    GroupExplained,
    GroupInputs,
    HostExplained,
    HostOfDay,
    Reason,
    SlotInputs,
    StartExplained,
)
from openslot.domains.availability.reasons import NEVER, give_reason
from openslot.domains.availability.slots import is_askable, spans_of
from openslot.domains.availability.team_slots import (
    TEAM_RULES,
    TeamQuery,
    ask_host,
    close_for_team,
    find_free,
    find_host_causes,
    find_team_causes,
    find_working,
    join_sessions,
    list_session_hosts,
    list_wanted,
    make_team_query,
)
from openslot.domains.teams.choice import BOOKING, judge
from openslot.domains.teams.models import HostStanding, HostVerdict
from openslot.platform.core.times import at_second, floor_second, get_zone
from openslot.platform.i18n import PluralText, Text

Judged = Mapping[int, Code]
"""The first rule that closes a start for each host, by host number."""


def explain_team_start(inputs: SlotInputs, starts_at: datetime) -> StartExplained:
    """Return every rule that closes a start, and what closes it for each host."""
    if not is_askable(starts_at):
        return StartExplained(starts_at, Code.OFF_GRID, (NEVER,))
    start = floor_second(starts_at)
    query = make_team_query(inputs, asked=(start, start + 1))
    judged = {no: _first(find_host_causes(ask_host(query, host), start)) for no, host in query.team.hosts.items()}
    causes = find_team_causes(query, start, judged)
    groups = tuple(_explain_group(query, group, judged, start) for group in query.team.groups)
    reasons = tuple(
        reason
        for code, cause in causes
        for reason in _give_reasons(query, code, cause, start, groups=groups, judged=judged)
    )
    return StartExplained(starts_at, _first(causes), reasons, groups)


def explain_team_day(inputs: SlotInputs, on: date) -> DayExplained:
    """Return what closes the starts of one day of the team's calendar, and at how many of them each host is free."""
    day = _look_at_day(inputs, on)
    if day is None:
        return DayExplained(on, starts=0, open=0, reasons=(NEVER,))
    team = day.query.team
    hosts = tuple(HostOfDay(team.hosts[no].name, (free & day.given).bit_count()) for no, free in day.free.items())
    if not day.given:
        return DayExplained(on, starts=0, open=0, reasons=(replace(_TOO_FEW_WORK, closes=0),), hosts=hosts)
    among = day.given & ~day.closed
    open_ = join_sessions(day.query, day.free, among & find_fillable(list_wanted(team), day.free), among=among)
    reasons = (*_count_rules(day), *_count_groups(day))
    return DayExplained(on, day.given.bit_count(), open_.bit_count(), reasons, hosts)


def explain_team_starts(inputs: SlotInputs, on: date) -> tuple[StartExplained, ...]:
    """Return for every start of a day at which enough hosts work whether it is open, and what closes it first."""
    day = _look_at_day(inputs, on)
    if day is None:
        return ()
    explained = (explain_team_start(inputs, at_second(start)) for start in day.query.grid.list_starts(day.given))
    return tuple(replace(each, reasons=each.reasons[:1], groups=()) for each in explained)


class _Day(Struct, frozen=True):
    """One day of a team's calendar, as bits of its grid."""

    query: TeamQuery
    given: int
    """The starts at which enough hosts work, or a session is."""

    sessions: int
    closed: int
    """The starts that are closed for the whole team."""

    free: Mapping[int, int]
    """When each host who may be chosen, or has a session, is free."""


def _look_at_day(inputs: SlotInputs, on: date) -> _Day | None:
    spans = spans_of(Days(on, on), get_zone(inputs.schedule.zone))
    if not spans:
        return None
    query = make_team_query(inputs, asked=(spans[0][0], spans[-1][1]))
    groups, team = list_wanted(query.team), query.team
    able = frozenset[int]().union(*(group.hosts for group in groups))
    numbers = able | list_session_hosts(team) & team.hosts.keys()
    asked = 0
    for span in spans:
        asked |= query.grid.between(*span)
    asked &= query.grid.starts
    sessions = asked & query.grid.cover((start, start + 1) for start in team.sessions)
    working = find_fillable(groups, {no: find_working(query, team.hosts[no]) for no in sorted(able)})
    free = {no: find_free(query, team.hosts[no]) for no in sorted(numbers)}
    return _Day(query, asked & working | sessions, sessions, close_for_team(query), free)


def _count_rules(day: _Day) -> Iterator[Reason]:
    """Return how many starts each rule closes for the whole team."""
    grid = day.query.grid
    for code, close in TEAM_RULES:
        for first, until, cause in close(day.query.whole):
            closed = grid.list_starts(day.given & grid.between(first, until))
            if closed:
                reason = give_reason(day.query.whole, code, cause=cause, start=closed[0])
                yield replace(reason, closes=len(closed))


def _count_groups(day: _Day) -> Iterator[Reason]:
    """Return at how many starts each group has too few free hosts."""
    alone = day.given & ~day.sessions
    for number, wanted in enumerate(list_wanted(day.query.team), 1):
        enough = count_at_least(wanted.pick, sorted(wanted.hosts), day.free)
        short = (day.given & ~day.sessions & ~enough).bit_count()
        alone &= enough
        if short:
            sentence = Text("Too few hosts of group %(number)s are free", number=number)
            yield Reason(Code.NO_HOSTS, sentence, _REMEDY, closes=short)
    shared = alone & ~find_fillable(list_wanted(day.query.team), day.free)
    if shared:
        yield replace(_SHARED, closes=shared.bit_count())
    absent = day.sessions & ~join_sessions(day.query, day.free, 0, among=day.sessions)
    if absent:
        yield replace(_ABSENT, closes=absent.bit_count())


def _first(causes: Sequence[tuple[Code, int]]) -> Code:
    return causes[0][0] if causes else Code.OPEN


def _give_reasons(
    query: TeamQuery, code: Code, cause: int, start: int, *, groups: Sequence[GroupExplained], judged: Judged
) -> Iterator[Reason]:
    if code is Code.OFF_GRID:
        step = step_of(query.whole.inputs.event_type) // 60
        sentence = Text("Start times are %(minutes)s min apart, counted from midnight", minutes=step)
        yield Reason(code, sentence, Text("Choose another time, or change the slot interval"))
    elif code is Code.OUTSIDE_HOURS:
        yield _TOO_FEW_WORK
        yield from _blame_hosts(code, groups)
    elif code is Code.NO_HOSTS and start in query.team.sessions:
        yield _ABSENT
        away = [(no, judged[no]) for no in sorted(query.team.sessions[start].hosts) if no in judged]
        named = ((query.team.hosts[no].name, why) for no, why in away if why is not Code.OPEN)
        yield from (Reason(code, _SENTENCES[why].fill(name=name), _REMEDY) for name, why in named)
    elif code is Code.NO_HOSTS:
        short = [group for group in groups if group.can_be_chosen < group.pick]
        yield from (Reason(code, group.sentence, _REMEDY) for group in short) if short else (_SHARED,)
        yield from _blame_hosts(code, short)
    else:
        yield give_reason(query.whole, code, cause=cause, start=start)


def _blame_hosts(code: Code, groups: Sequence[GroupExplained]) -> Iterator[Reason]:
    """Return why hosts of groups can't be chosen, each host once."""
    sentences = dict.fromkeys(host.sentence for group in groups for host in group.hosts if not host.can_be_chosen)
    return (Reason(code, sentence, _REMEDY) for sentence in sentences)


def _explain_group(query: TeamQuery, group: GroupInputs, judged: Judged, start: int) -> GroupExplained:
    session = query.team.sessions.get(start)
    hosting = session.hosts if session else ()
    candidates = [replace(each, is_free=judged.get(each.host_no) is Code.OPEN) for each in group.candidates]
    verdicts = judge(candidates, pick=group.group.pick, rules=query.team.rules)
    hosts = tuple(
        _explain_host(
            query.team.hosts[each.host_no].name, judged[each.host_no], verdict, has_session=each.host_no in hosting
        )
        for each, verdict in zip(candidates, verdicts, strict=True)
        if each.host_no in query.team.hosts
    )
    able, pick = sum(host.can_be_chosen for host in hosts), group.group.pick
    if not hosts:
        sentence = Text("The group has no hosts")
    elif able < pick:
        sentence = PluralText(
            "Only %(count)s of %(needed)s needed hosts is free",
            "Only %(count)s of %(needed)s needed hosts are free",
            count=able,
            needed=pick,
        )
    else:
        sentence = PluralText("%(count)s host is free", "%(count)s hosts are free", count=able)
    return GroupExplained(pick, able, sentence, hosts)


def _explain_host(name: str, code: Code, verdict: HostVerdict, *, has_session: bool) -> HostExplained:
    if verdict.standing is HostStanding.PAUSED:
        return HostExplained(name, False, Text("%(name)s has a weight of 0", name=name))
    if verdict.standing is HostStanding.AHEAD:
        count = verdict.ahead // BOOKING
        return HostExplained(name, False, Text("%(name)s is %(count)s ahead", name=name, count=count))
    if has_session and code is Code.OPEN:
        # They are not chosen again: whoever comes next joins their session.
        return HostExplained(name, True, Text("%(name)s hosts the session at this time", name=name))
    return HostExplained(name, code is Code.OPEN, _SENTENCES[code].fill(name=name))


_REMEDY = Text("Choose another time, or add hosts")
_TOO_FEW_WORK = Reason(Code.OUTSIDE_HOURS, Text("Too few hosts work at this time"), _REMEDY)
_SHARED = Reason(
    Code.NO_HOSTS, Text("Too few hosts are free: some are in several groups, and can host for one of them"), _REMEDY
)
_ABSENT = Reason(Code.NO_HOSTS, Text("A host of the session at this time can't host it any more"), _REMEDY)
_SENTENCES = {
    Code.OPEN: Text("%(name)s is free", name=""),
    Code.OUTSIDE_HOURS: Text("%(name)s does not work at this time", name=""),
    Code.OUT_OF_OFFICE: Text("%(name)s is out of office", name=""),
    Code.HOLIDAY: Text("%(name)s has a public holiday", name=""),
    Code.DAY_LIMIT: Text("%(name)s has reached a limit per day", name=""),
    Code.WEEK_LIMIT: Text("%(name)s has reached a limit per week", name=""),
    Code.TAKEN: Text("%(name)s is in a meeting", name=""),
    Code.BUSY: Text("%(name)s is busy in a calendar", name=""),
}
