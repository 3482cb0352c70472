"""When hosts can be had: what is asked of the rules, and the starts of the grid at which each host is free, as bits."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.availability.grid import Interval, Steps, lay_steps
from openslot.domains.availability.groups import HostsWanted, find_fillable
from openslot.domains.availability.hours import WorkedHours, find_hours, hours_of_days, list_open_hours, step_of
from openslot.domains.availability.models import HostInputs, SlotInputs
from openslot.domains.availability.rules import HostQuery, SlotQuery, close_host
from openslot.domains.schedules.models import Schedule
from openslot.domains.teams.choice import list_eligible
from openslot.platform.core.times import ceil_second, date_of, floor_second, get_offsets, get_zone, local_day

NOBODY = UUID(int=0)
"""The owner of hours that many hosts share: their owner does not matter."""

_NO_HOURS = WorkedHours([], [], [])
_SECOND = timedelta(seconds=1)


def make_query(inputs: SlotInputs, *, asked: Interval) -> SlotQuery:
    """Lay out all that decides about the starts of a span."""
    event_type, zone, host = inputs.event_type, get_zone(inputs.calendar.zone), inputs.own_host
    duration = count_seconds(inputs)
    first_day, last_day = local_day(zone, asked[0]), local_day(zone, asked[1] + duration) + 1
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    # A clock that is turned back at midnight shows the end of a day after the next one has begun.
    steps = Steps(zone, first_day - 1, last_day, step_of(event_type))
    hours = _NO_HOURS
    if host is not None:
        hours = hours_of_days(host.schedule, offsets, first_day, last_day, duration=duration)
    return SlotQuery(
        inputs=inputs,
        own=host,
        hours=hours,
        offsets=offsets,
        steps=steps,
        asked=asked,
        now=ceil_second(inputs.now),
        today=local_day(zone, floor_second(inputs.now)),
        duration=duration,
        before=event_type.buffer_before * 60,
        after=event_type.buffer_after * 60,
    )


def count_seconds(inputs: SlotInputs) -> int:
    return inputs.duration // _SECOND


def ask_host(query: SlotQuery, host: HostInputs) -> HostQuery:
    """Lay out all that decides about the asked starts for one host."""
    if query.own is not None:
        return HostQuery(query, host, query.hours)
    return HostQuery(query, host, find_hours(host.schedule, query.asked, duration=query.duration))


def list_wanted(inputs: SlotInputs, *, among: Iterable[int] | None = None) -> list[HostsWanted]:
    """List how many hosts each group needs, and who may be chosen: all who are eligible, or some of them."""
    hosts = inputs.hosts.keys() if among is None else frozenset(among)
    return [
        HostsWanted(
            each.group.pick,
            frozenset(
                one.host_no for one in list_eligible(each.candidates, rules=inputs.choice.rules) if one.host_no in hosts
            ),
        )
        for each in inputs.groups
    ]


def find_hosted(query: SlotQuery, among: int) -> int:
    """Find at which of some starts every group has enough free hosts, or a session has those whom it needs."""
    groups, free = list_wanted(query.inputs), _Bits(query, find_free)
    # When enough hosts work is soon found. Of many who are free then the first ones are enough.
    found = among & find_fillable(groups, _Bits(query, find_working))
    found = find_fillable(groups, free, among=found) if found else 0
    hosting = {no: free[no] for no in list_session_hosts(query.inputs) if no in query.inputs.hosts}
    return join_sessions(query, hosting, found, among=among)


class _Bits(dict[int, int]):
    """Bits of each host, found when they are asked for."""

    def __init__(self, query: SlotQuery, find: Callable[[SlotQuery, HostInputs], int]) -> None:
        super().__init__()
        self.query, self.find = query, find

    def __missing__(self, no: int) -> int:
        found = self[no] = self.find(self.query, self.query.inputs.hosts[no])
        return found


def list_session_hosts(inputs: SlotInputs) -> frozenset[int]:
    """List those who have a session, and could be chosen for one."""
    able = {each.host_no for group in inputs.groups for each in group.candidates}
    return frozenset(no for each in inputs.sessions.values() for no in each.hosts if no in able)


def join_sessions(query: SlotQuery, free: Mapping[int, int], found: int, *, among: int) -> int:
    """Find at which of some starts hosts can be had: those of its session, or else enough of every group."""
    for start, session in query.inputs.sessions.items():
        bit = query.grid.cover([(start, start + 1)])
        can_join = all(free.get(no, 0) & bit for no in session.hosts)
        found = found | bit & among if can_join else found & ~bit
    return found


def find_free(query: SlotQuery, host: HostInputs) -> int:
    """Find the bits of the starts at which a host is free for a meeting."""
    worked = find_worked_by(query, host)
    closed = list(close_host(ask_beside_hours(query, host)))
    return worked & ~query.grid.cover(closed) if closed else worked


def ask_beside_hours(query: SlotQuery, host: HostInputs) -> HostQuery:
    """Lay out what decides beside hours that many hosts have: these, and their holidays, are found for all of them."""
    return HostQuery(query, host, query.hours)


def find_worked_by(query: SlotQuery, host: HostInputs) -> int:
    """Find the bits of the starts at which a host works; the grid of a host's own event type has no others."""
    if query.own is not None:
        return query.grid.all
    return find_worked(query.steps, _as_hours(host.schedule), query.duration)


def find_working(query: SlotQuery, host: HostInputs) -> int:
    """Find the bits of the starts at which a host's hours give a meeting its whole time, holidays or not."""
    if query.own is not None:
        return query.grid.all
    return find_worked(query.steps, replace(_as_hours(host.schedule), holidays=None), query.duration)


def _as_hours(schedule: Schedule) -> Schedule:
    """Leave out what differs from host to host."""
    return replace(schedule, id=NOBODY, owner_id=NOBODY, name="", out_of_office=())


# benchmarks/caches.py: find when a team's host works, once for all with the same hours, 290 times
@lru_cache(maxsize=4096)
def find_worked(steps: Steps, schedule: Schedule, duration: int) -> int:
    """Find the bits of the steps at which hours give a meeting its whole time; a process keeps them."""
    grid, zone = lay_steps(steps), get_zone(schedule.zone)
    first_day, last_day = local_day(zone, grid.starts[0]), local_day(zone, grid.starts[-1] + duration) + 1
    hours = list_open_hours(schedule, first_day, last_day)
    return grid.cover((first, until - duration + 1) for first, until in hours)
