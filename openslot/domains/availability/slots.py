"""The engine: which starts may be booked, for any number of hosts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from operator import itemgetter
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from openslot.domains.availability.free_hosts import (
    ask_beside_hours,
    ask_host,
    count_seconds,
    find_hosted,
    find_worked_by,
    list_wanted,
    make_query,
)
from openslot.domains.availability.grid import Interval, invert, pick_starts
from openslot.domains.availability.groups import can_fill
from openslot.domains.availability.models import Code, Days, SlotInputs, Slots, Taken
from openslot.domains.availability.rules import (
    HOST_RULES,
    OFFER_RULES,
    ORDER,
    HostQuery,
    SlotQuery,
    close_host,
    close_offer,
)
from openslot.platform.core.times import (
    DAY,
    FIRST_YEAR,
    LAST_YEAR,
    day_number,
    floor_second,
    get_offsets,
    spans_of_days,
)

_KNOWN = (day_number(date(FIRST_YEAR, 1, 1)) * DAY, day_number(date(LAST_YEAR + 1, 1, 1)) * DAY)

Causes = Sequence[tuple[Code, int]]
"""Rules that close a start, each with its cause."""

_NOT_FREE: Causes = ((Code.NO_HOSTS, 0),)


def list_slots(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> Slots:
    """List the starts at which every group has enough free hosts, or a session has seats left."""
    spans, duration = spans_of(days, viewer), count_seconds(inputs)
    if not spans:
        return Slots([], duration)
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    return Slots(_list_open(query, spans), duration, find_session_ends(inputs, duration))


def _list_open(query: SlotQuery, asked: list[Interval]) -> list[int]:
    if query.own is not None:
        # What closes the time of the only host closes the start: nobody has to be counted.
        closed = chain(invert(asked), close_offer(query), close_host(ask_host(query, query.own)))
        return pick_starts(query.hours.stretches, sorted(closed, key=itemgetter(0)), step=query.steps.step)
    among = find_askable(query, asked)
    return query.grid.pick(find_hosted(query, among)) if among else []


def find_askable(query: SlotQuery, asked: list[Interval]) -> int:
    """Find the bits of the starts in some spans that are open if hosts are free."""
    grid = query.grid
    return grid.all & ~grid.cover(chain(invert(asked), close_offer(query)))


def list_taken(inputs: SlotInputs, days: Days, *, viewer: ZoneInfo) -> list[int]:
    """List the starts that are closed only because others have taken the time of hosts, or their limits."""
    hosts = {
        no: replace(host, taken=Taken(busy=host.taken.busy), booked_in_all=()) for no, host in inputs.hosts.items()
    }
    free = replace(inputs, hosts=hosts, sessions={}, booked=())
    is_open = set(list_slots(inputs, days, viewer=viewer).starts)
    return [start for start in list_slots(free, days, viewer=viewer).starts if start not in is_open]


def find_session_ends(inputs: SlotInputs, duration: int) -> dict[int, int]:
    """Find the sessions that differ in length from their event type: an invitee who joins gets the session's end."""
    return {start: each.end for start, each in inputs.sessions.items() if each.end != start + duration}


def judge(inputs: SlotInputs, starts_at: datetime, *, judged: Mapping[int, Code] | None = None) -> Code:
    """Return whether a start may be booked, or the first rule that forbids it; its hosts may be judged before."""
    if not is_askable(starts_at):
        return Code.OFF_GRID
    start = floor_second(starts_at)
    query = make_query(inputs, asked=(start, start + 1))
    if judged is None:
        return find_first(find_causes(query, start, judge_each(query, start)))
    known: dict[int, Causes] = {no: () if code is Code.OPEN else ((code, 0),) for no, code in judged.items()}
    return find_first(find_causes(query, start, known))


def judge_hosts(inputs: SlotInputs, starts_at: datetime) -> dict[int, Code]:
    """Return by their numbers whether hosts are free for a meeting, or the first rule that forbids it."""
    start = floor_second(starts_at)
    judged = judge_each(make_query(inputs, asked=(start, start + 1)), start)
    return {no: find_first(causes) for no, causes in judged.items()}


def list_free_hosts(inputs: SlotInputs, starts_at: datetime) -> set[int]:
    """List the numbers of hosts who are free for a meeting, as `judge_hosts` does, without a reason for the others."""
    _, free = judge_free(inputs, starts_at)
    return free


def judge_free(inputs: SlotInputs, starts_at: datetime) -> tuple[bool, set[int]]:
    """Return whether a start may be booked, and who is free then: why others are not is not asked."""
    start = floor_second(starts_at)
    query = make_query(inputs, asked=(start, start + 1))
    if query.has_start(start):
        place = query.grid.find(start)
        free = {
            no
            for no, host in inputs.hosts.items()
            if find_worked_by(query, host) >> place & 1
            and not any(first <= start < until for first, until, _ in close_host(ask_beside_hours(query, host)))
        }
    else:
        free = {no for no, causes in judge_each(query, start).items() if not causes}
    judged = {no: () if no in free else _NOT_FREE for no in inputs.hosts}
    return not find_causes(query, start, judged), free


def find_first(causes: Causes) -> Code:
    return causes[0][0] if causes else Code.OPEN


def find_causes(query: SlotQuery, start: int, hosts: Mapping[int, Causes]) -> Causes:
    """List every rule that closes a start, each with its cause, in the order in which they count.

    What closes it for each host is given: for a host's own event type that is why, or else that they are too few.
    """
    found = [
        (code, cause) for code, close in OFFER_RULES for first, until, cause in close(query) if first <= start < until
    ]
    found += _find_missing(query.inputs, start, hosts) if query.own is None else hosts[query.own.host_no]
    # Where a host does not work are no steps of their hours.
    if not query.has_start(start) and (query.own is None or (Code.OUTSIDE_HOURS, 0) not in found):
        found.append((Code.OFF_GRID, 0))
    return sorted(found, key=_place)


def judge_each(query: SlotQuery, start: int) -> dict[int, Causes]:
    """List what closes a start for each host, by their numbers."""
    return {no: _find_host_causes(ask_host(query, host), start) for no, host in query.inputs.hosts.items()}


def _find_host_causes(asked: HostQuery, start: int) -> Causes:
    """List every rule that closes a start for one host, each with its cause, in the order in which they count."""
    end = start + asked.query.duration
    is_within = any(begin <= start and end <= until for begin, until in asked.hours.ranges)
    found = [
        (code, cause) for code, close in HOST_RULES for first, until, cause in close(asked) if first <= start < until
    ]
    return found if is_within else [(Code.OUTSIDE_HOURS, 0), *found]


def _find_missing(inputs: SlotInputs, start: int, hosts: Mapping[int, Causes]) -> Causes:
    """Return why nobody is there: too few are free, or too few work at all, or a host of the session is not free."""
    session = inputs.sessions.get(start)
    if session is not None:
        return () if all(no in hosts and not hosts[no] for no in session.hosts) else _NOT_FREE
    if can_fill(list_wanted(inputs, among=(no for no, causes in hosts.items() if not causes))):
        return ()
    working = (no for no, causes in hosts.items() if find_first(causes) is not Code.OUTSIDE_HOURS)
    is_working = can_fill(list_wanted(inputs, among=working)) or not can_fill(list_wanted(inputs))
    return _NOT_FREE if is_working else ((Code.OUTSIDE_HOURS, 0),)


def _place(cause: tuple[Code, int]) -> int:
    return ORDER[cause[0]]


def repeat_weekly(starts_at: datetime, zone: ZoneInfo, weeks: int) -> list[datetime]:
    """List a start and the same time of a zone's clock in the weeks after it, as calendars repeat it.

    A time that the clock skips is as much later as the clock is turned; of two, it is the first.
    """
    wall = starts_at.astimezone(zone).replace(tzinfo=None)
    later = ((wall + timedelta(weeks=week)).replace(tzinfo=zone).astimezone(UTC) for week in range(1, weeks))
    return [starts_at, *later]


def is_askable(starts_at: datetime) -> bool:
    """Return whether an instant is a whole second of the years that are known."""
    return not starts_at.microsecond and _KNOWN[0] <= floor_second(starts_at) < _KNOWN[1]


def spans_of(days: Days, zone: ZoneInfo) -> list[Interval]:
    """List when a zone's calendar shows some days, within the years that are known."""
    offsets = get_offsets(zone, days.first, days.last)
    spans = spans_of_days(offsets, day_number(days.first), day_number(days.last))
    clipped = [(max(start, _KNOWN[0]), min(end, _KNOWN[1])) for start, end in spans]
    return [(start, end) for start, end in clipped if start < end]
