"""The free times of a team: hosts are read some at a time, until the others can't change what is listed.

When a host is free is kept, with the version of what was read, and used again for as long as the host has that version.
What is booked is never judged by it.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from sys import getsizeof
from typing import NamedTuple
from zoneinfo import ZoneInfo

from openslot.domains.availability import team_store
from openslot.domains.availability.free_hosts import (
    count_seconds,
    find_free,
    find_worked,
    join_sessions,
    list_session_hosts,
    list_wanted,
    make_query,
)
from openslot.domains.availability.groups import find_fillable
from openslot.domains.availability.models import Days, SlotContext, Slots
from openslot.domains.availability.rules import SlotQuery
from openslot.domains.availability.slots import find_askable, find_session_ends, list_slots, spans_of
from openslot.domains.teams.models import TeamRules
from openslot.platform.core.db import Db
from openslot.platform.core.times import at_second

READ_FIRST = 64
"""How many hosts are read at once; then twice as many, and so on."""

MAX_BYTES = 16 * 1024 * 1024
ENTRY_BYTES = 400
"""The size of a kept host without their bits, roughly."""

TimesKey = tuple[object, ...]


class KeptBits(NamedTuple):
    """When a host could begin a meeting, and for how long that is true."""

    bits: int
    version: int | None
    read_at: datetime
    changes_at: datetime | None = None

    def is_true(self, version: int | None, now: datetime) -> bool:
        is_same = version is not None and self.version == version
        return is_same and self.read_at <= now and (self.changes_at is None or now < self.changes_at)


# benchmarks/caches.py: free times of 50 hosts of a team, 62 days, 13 times
class TimesCache:
    """When hosts are free, by what was asked of them; what was asked longest ago is forgotten first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.size = 0
        self._max = max_bytes
        self._asked: OrderedDict[TimesKey, dict[int, KeptBits]] = OrderedDict()

    def find(self, question: TimesKey, versions: Mapping[int, int | None], now: datetime) -> dict[int, int]:
        """Find the bits of the hosts who have not changed since they were read."""
        kept = self._asked.get(question)
        if kept is None:
            return {}
        self._asked.move_to_end(question)
        return {
            no: each.bits
            for no, version in versions.items()
            if (each := kept.get(no)) is not None and each.is_true(version, now)
        }

    def keep(self, question: TimesKey, read: Mapping[int, KeptBits]) -> None:
        hosts = self._asked.setdefault(question, {})
        self._asked.move_to_end(question)
        self.size += _measure(read.values()) - _measure(hosts[no] for no in read if no in hosts)
        hosts |= read
        while self.size > self._max:
            _, oldest = self._asked.popitem(last=False)
            self.size -= _measure(oldest.values())

    def clear(self) -> None:
        self._asked.clear()
        self.size = 0


KEPT = TimesCache()


def _measure(kept: Iterable[KeptBits]) -> int:
    return sum(ENTRY_BYTES + getsizeof(each.bits) for each in kept)


async def list_open(db: Db, found: SlotContext, days: Days, *, viewer: ZoneInfo) -> Slots:
    """List the starts at which every group has enough free hosts, as `list_slots` does of hosts who are read."""
    inputs = found.inputs
    if inputs.hosts:
        return list_slots(inputs, days, viewer=viewer)
    spans, duration = spans_of(days, viewer), count_seconds(inputs)
    if not spans:
        return Slots([], duration)
    query = make_query(inputs, asked=(spans[0][0], spans[-1][1]))
    open_ = find_askable(query, spans)
    starts = query.grid.pick(await _find_open(db, query, open_) if open_ else 0)
    return Slots(starts, duration, find_session_ends(inputs, duration))


async def _find_open(db: Db, query: SlotQuery, among: int) -> int:
    """Find at which of some starts enough hosts are free, or those of its session.

    Who is not read yet is at most free when they work: where that makes no difference, the others are enough.
    """
    versions, question = query.inputs.choice.versions, _ask(query)
    groups = list_wanted(query.inputs, among=versions)
    kept = KEPT.find(question, versions, query.inputs.now) if question else {}
    kept |= await _find_hosting(db, query, question)
    unread = sorted(versions.keys() - kept.keys())
    worked = dict.fromkeys(unread, among)
    if len(unread) > READ_FIRST:
        worked = await _find_worked(db, query, unread, question)
    free, can, count = dict.fromkeys(unread, 0) | kept, worked | kept, READ_FIRST
    while True:
        open_ = find_fillable(groups, free, among=among)
        if not unread or not find_fillable(groups, can, among=among) & ~open_:
            return join_sessions(query, free, open_, among=among)
        for no, bits in (await _find_free(db, query, unread[:count], question)).items():
            can[no] = free[no] = bits
        unread, count = unread[count:], count * 2


async def _find_hosting(db: Db, query: SlotQuery, question: TimesKey | None) -> dict[int, int]:
    """Find when those who have sessions are free, and that they are at the starts of these: for this question alone."""
    inputs, hosting = query.inputs, list_session_hosts(query.inputs)
    if not hosting:
        return {}
    sessions = frozenset((start, session.hosts) for start, session in inputs.sessions.items())
    asked = (*question, sessions) if question else None
    versions = {no: inputs.choice.versions[no] for no in hosting}
    kept = KEPT.find(asked, versions, inputs.now) if asked else {}
    unread = hosting - kept.keys()
    return kept | (await _find_free(db, query, unread, asked) if unread else {})


def _ask(query: SlotQuery) -> TimesKey | None:
    """Return all that bits depend on beside the host; None if something is changing, so that they are not kept."""
    if query.inputs.choice.changing:
        return None
    length = query.duration, query.before, query.after
    return str(query.zone), query.asked, query.steps.step, *length, _limits_of(query.inputs.choice.rules)


def _limits_of(rules: TeamRules) -> TimesKey | None:
    limits = (rules.host_per_day, rules.host_per_week, rules.host_total_per_day, rules.host_total_per_week)
    return (rules.event_type_id, *limits) if any(limits) else None


async def _find_worked(db: Db, query: SlotQuery, numbers: Collection[int], question: TimesKey | None) -> dict[int, int]:
    """Find when hosts could begin a meeting if nothing took their time; many have the same hours."""
    now, versions = query.inputs.now, {no: query.inputs.choice.versions[no] for no in numbers}
    asked = ("hours", *question) if question else None
    kept = KEPT.find(asked, versions, now) if asked else {}
    unknown, worked = versions.keys() - kept.keys(), dict.fromkeys(numbers, 0) | kept
    for hours, same in await team_store.list_hours(db, unknown) if unknown else ():
        bits = find_worked(query.steps, hours, query.duration)
        worked |= dict.fromkeys(same, bits)
        if asked:
            KEPT.keep(asked, {no: KeptBits(bits, version, now) for no, version in same.items()})
    return worked


async def _find_free(db: Db, query: SlotQuery, numbers: Collection[int], question: TimesKey | None) -> dict[int, int]:
    """Read hosts, and find when they could begin a meeting; who is gone meanwhile never does."""
    (first, until), inputs = (at_second(each) for each in query.asked), query.inputs
    read = await team_store.list_times(db, inputs, numbers, since=first, until=until)
    found = {
        each.host.host_no: KeptBits(find_free(query, each.host), each.version, inputs.now, each.changes_at)
        for each in read
    }
    if question:
        KEPT.keep(question, found)
    return dict.fromkeys(numbers, 0) | {no: each.bits for no, each in found.items()}
