"""The free times of a team: hosts are read some at a time, until the others can't change what is listed."""

from zoneinfo import ZoneInfo

from openslot.availability import team_store
from openslot.availability.models import Days, SlotContext, Slots
from openslot.availability.slots import spans_of
from openslot.availability.team_groups import find_fillable
from openslot.availability.team_slots import (
    TeamQuery,
    find_askable,
    find_free,
    find_worked,
    list_wanted,
    make_team_query,
)
from openslot.core.db import Db
from openslot.core.times import at_second

READ_FIRST = 64
"""How many hosts are read at once; then twice as many, and so on."""


async def list_team_open(db: Db, found: SlotContext, days: Days, *, viewer: ZoneInfo) -> Slots:
    """List the starts at which every group has enough free hosts, as `list_team_slots` does of hosts who are read."""
    inputs = found.inputs
    spans, duration = spans_of(days, viewer), int(inputs.duration.total_seconds())
    if not spans:
        return Slots([], duration)
    query = make_team_query(inputs, asked=(spans[0][0], spans[-1][1]))
    open_ = find_askable(query, spans)
    return Slots(query.grid.list_starts(await _find_open(db, query, open_) if open_ else 0), duration)


async def _find_open(db: Db, query: TeamQuery, among: int) -> int:
    """Find at which of some starts enough hosts are free.

    Who is not read yet is at most free when they work: where that makes no difference, the others are enough.
    """
    team = query.team
    unread = sorted(team.host_numbers)
    groups = list_wanted(team, among=unread)
    can = await _find_worked(db, query, unread) if len(unread) > READ_FIRST else dict.fromkeys(unread, among)
    free, count = dict.fromkeys(unread, 0), READ_FIRST
    while True:
        open_ = find_fillable(groups, free, among=among)
        if not unread or not find_fillable(groups, can, among=among) & ~open_:
            return open_
        for no, bits in (await _find_free(db, query, unread[:count])).items():
            can[no] = free[no] = bits
        unread, count = unread[count:], count * 2


async def _find_worked(db: Db, query: TeamQuery, numbers: list[int]) -> dict[int, int]:
    """Find when hosts could begin a meeting if nothing took their time; many have the same hours."""
    worked = dict.fromkeys(numbers, 0)
    for hours, same in await team_store.list_hours(db, numbers):
        worked |= dict.fromkeys(same, find_worked(query.grid, hours, query.whole.duration))
    return worked


async def _find_free(db: Db, query: TeamQuery, numbers: list[int]) -> dict[int, int]:
    """Read hosts, and find when they could begin a meeting; who is gone meanwhile never does."""
    first, until = (at_second(each) for each in query.whole.asked)
    hosts = await team_store.list_hosts(db, query.team, numbers, since=first, until=until, now=query.whole.inputs.now)
    return dict.fromkeys(numbers, 0) | {no: find_free(query, host) for no, host in hosts.items()}
