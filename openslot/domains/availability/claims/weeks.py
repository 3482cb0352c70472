"""The same time in several weeks in a row, for the same hosts: judged together, and taken together."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from openslot.domains.availability.claims.choosing import list_free
from openslot.domains.availability.claims.holds.operations import check_held
from openslot.domains.availability.claims.holds.store import find_hold, find_hold_of_chosen
from openslot.domains.availability.claims.operations import lock_time
from openslot.domains.availability.claims.taking import check_start, find, take
from openslot.domains.availability.free_hosts import list_wanted
from openslot.domains.availability.groups import keep_most
from openslot.domains.availability.models import Claimed, ClaimKind, Code, EventTypeRef, SlotContext, Weeks
from openslot.domains.availability.slots import is_askable, judge, judge_hosts, repeat_weekly
from openslot.domains.teams.ledger.operations import give_hold_back, settle_credits
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work


async def judge_weeks(
    work: Work, which: EventTypeRef, starts_at: datetime, *, weeks: int, hold_id: UUID | None = None
) -> Weeks:
    """Lock the host, and find in which of several weeks a time of the schedule's clock can be booked.

    It is for the same hosts in all weeks: those who were held are chosen again.
    """
    locked = await lock_time(work, which)
    find_hold_of = find_hold_of_chosen if locked.is_team else find_hold
    held = await find_hold_of(work.db, hold_id, now=work.now) if hold_id else None
    if locked.is_team:
        if held is not None:
            # What another event type has counted stays as it is.
            check_held(held, locked.event_type_id, starts_at)
            await give_hold_back(work, held.claim_id)
        await settle_credits(work, locked.event_type_id)
    # A clock that is turned moves the last one by hours at most.
    until = starts_at + timedelta(weeks=weeks) if is_askable(starts_at) else None
    without = held.claim_id if held else None
    found = await find(work, which, starts_at, is_team=locked.is_team, until=until, without=without)
    if held is not None:
        check_held(held, found.inputs.event_type.id, starts_at)
    code = check_start(found.inputs, starts_at, field="startTime")
    starts = repeat_weekly(starts_at, get_zone(found.inputs.calendar.zone), weeks)
    open_ = _list_open(found, starts)
    # Chosen hosts give their hold up for all weeks; of one host it becomes the first, if that can be booked.
    is_used = held is not None and (locked.is_team or code is Code.OPEN)
    return Weeks(
        found=found,
        open=open_,
        closed=tuple(start for start in starts if start not in open_),
        held=held.hosts if held is not None and is_used else (),
    )


def _list_open(found: SlotContext, starts: Sequence[datetime]) -> tuple[datetime, ...]:
    """List the starts at which the same hosts can be had: as many as there are."""
    inputs = found.inputs
    is_open, free = 0, dict.fromkeys(inputs.hosts, 0)
    for index, start in enumerate(starts):
        judged = judge_hosts(inputs, start)
        is_open |= (judge(inputs, start, judged=judged) is Code.OPEN) << index
        for no, code in judged.items():
            free[no] |= (code is Code.OPEN) << index
    kept = keep_most(list_wanted(inputs), free, is_open)
    return tuple(start for index, start in enumerate(starts) if kept >> index & 1)


async def take_weeks(work: Work, weeks: Weeks) -> list[Claimed]:
    """Take the open weeks with the same hosts, for an event type with one seat."""
    free = list_free(weeks.found, *weeks.open)
    return await take(work, weeks.found, weeks.open, free, kind=ClaimKind.BOOKING, held=weeks.held)
