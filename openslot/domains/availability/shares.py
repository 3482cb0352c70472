"""How much of a host's day may be taken and not confirmed: holds, unpaid bookings, requests, offers of a wait list.

They have one share of a day together; bookings that are confirmed at once, or by the host's side, are not in it.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from math import ceil
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import causes_of, find_used_allowance, note_refused_cost, spend
from openslot.domains.allowances.rules import DAY
from openslot.domains.availability import store
from openslot.domains.availability.claims.taking import find
from openslot.domains.availability.claims.unconfirmed.store import (
    Unconfirmed,
    list_unconfirmed_claims,
    list_unconfirmed_of_event_type,
    list_unconfirmed_of_host,
)
from openslot.domains.availability.errors import DayHoldLimitExceeded
from openslot.domains.availability.models import ByBooking, Claimed, ClaimedHost, Days, SlotContext, SlotInputs
from openslot.domains.availability.slots import list_slots, spans_of
from openslot.domains.availability.team_store import reread_hosts
from openslot.platform.core.times import at_second, date_of, floor_second, get_zone, local_day
from openslot.platform.core.work import Work

ALWAYS = 2
"""How many times of a day can be taken so, however few it has."""
FIRST_SHARES = 2
"""How many shares may be taken if whoever takes more than one has taken nothing else of the host for a day."""
ASK_AGAIN = timedelta(minutes=10)


class TakenShare(Struct, frozen=True):
    """How many of the times that would be open are closed because something is not confirmed."""

    closed: int
    out_of: int

    def is_within(self, percent: int) -> bool:
        return self.closed * 100 <= self.out_of * percent


async def spend_time(work: Work, taken: Claimed, *, email: str) -> None:
    """Refuse who has taken too many times of this host for a day, whether they were held before or not."""
    owner_id = taken.event_type.owner_id
    causes = await causes_of(work, email=email)
    await spend(work, Cost.TIME, causes, scope=str(owner_id), host_id=owner_id)


async def spend_hold(work: Work, taken: Claimed) -> None:
    """Refuse to hold too many times of this host for a day; looking at times keeps nobody from booking one."""
    owner_id = taken.event_type.owner_id
    causes = await causes_of(work)
    await spend(work, Cost.TIME, causes, scope=f"holds of {owner_id}", host_id=owner_id)


async def check(work: Work, taken: Claimed, *, is_booked: bool = False) -> None:
    """Refuse what is written already and not confirmed, if such times take more than their share.

    The host is locked, or the team's event type, so that nothing comes in between. Beyond the share, a booking that
    waits is still let through for who has taken nothing else of the host: many who take one time each can't be stopped
    without stopping everybody, but a few can't keep the others out.
    """
    percent = work.runtime.settings.hold_share
    others, exceeded = await _find_exceeded(work, taken)
    if exceeded is None or exceeded.is_within(percent):
        return
    if is_booked and exceeded.is_within(FIRST_SHARES * percent) and await _is_first(work, taken):
        return
    owner_id = taken.event_type.owner_id
    allowance = Allowance(percent, DAY)
    cause = CostCause(kind=CauseKind.DAY, name=str(owner_id))
    note_refused_cost(work.runtime, Cost.TIME, cause, allowance, host_id=owner_id if is_booked else None)
    raise DayHoldLimitExceeded(retry_after=_wait(others, work.now))


async def _is_first(work: Work, taken: Claimed) -> bool:
    # Whoever comes from an unknown network can't be told apart, and mail domains can be named by anybody.
    causes = await causes_of(work)
    scope = f"first of {taken.event_type.owner_id}"
    return bool(causes) and await find_used_allowance(work, Cost.TIME, causes, scope=scope, most=1) is None


async def _find_exceeded(work: Work, taken: Claimed) -> tuple[Sequence[Unconfirmed], TakenShare | None]:
    """Find what takes the largest part of a limit or of a day, and what else is not confirmed there; None if little is.

    Of a team it is the part of its event type, and that of each host's own calendar.
    """
    event_type, on = taken.event_type, _day_of(taken, taken.starts_at)
    monday = on - timedelta(days=on.weekday())
    others = await _list_others(work, taken, Days(monday, monday + timedelta(days=6)))
    of_day = [each for each in others if _day_of(taken, each.starts_at) == on]
    shares: list[tuple[Sequence[Unconfirmed], TakenShare]] = []
    for limit, counted in ((event_type.limits.per_day, of_day), (event_type.limits.per_week, others)):
        own = [each for each in counted if each.event_type_id == event_type.id]
        if limit is not None and own:
            shares.append((own, TakenShare(len(own) + 1, limit)))
    days = Days(on, on)
    if len(of_day) >= ALWAYS:
        measure = _measure_host if event_type.team_id is None else _measure_team
        shares += [(of_day, each) for each in await measure(work, taken, days)]
    for host in taken.hosts if taken.hosts[0].was_chosen else ():
        shares += await _measure_own(work, taken, host, days)
    return max(shares, key=lambda each: each[1].closed / max(each[1].out_of, 1), default=((), None))


async def _list_others(work: Work, taken: Claimed, days: Days) -> list[Unconfirmed]:
    """List what else is not confirmed on some days of the host's calendar; of a team, what its event type has taken."""
    since, until = _spans(days, taken)
    if taken.event_type.team_id is not None:
        return await list_unconfirmed_of_event_type(
            work.db, taken.event_type.id, since=since, until=until, now=work.now, without=taken.own_id
        )
    return await list_unconfirmed_of_host(
        work.db, _found_of(taken).host_no, since=since, until=until, now=work.now, without=taken.own_id
    )


async def _measure_own(
    work: Work, taken: Claimed, host: ClaimedHost, days: Days
) -> list[tuple[Sequence[Unconfirmed], TakenShare]]:
    """Measure what is closed of the own calendar of one who hosts it for a team."""
    since, until = _spans(days, taken)
    others = await list_unconfirmed_of_host(
        work.db, host.host_no, since=since, until=until, now=work.now, without=host.claim_id
    )
    if len(others) < ALWAYS:
        return []
    return [(others, each) for each in await _measure_host(work, taken, days, owner_id=host.user_id)]


async def _measure_host(work: Work, taken: Claimed, days: Days, *, owner_id: UUID | None = None) -> list[TakenShare]:
    """Measure with the engine what is closed of a day, for everything that a host offers.

    A few short times can close all starts of a longer meeting.
    """
    since, until = _spans(days, taken)
    free, left = [
        await store.list_settings(
            work.db,
            owner_id or taken.event_type.owner_id,
            first=taken.event_type.id,
            asked_from=since,
            asked_until=until,
            now=work.now,
            is_confirmed=is_confirmed,
        )
        for is_confirmed in (True, False)
    ]
    return [_measure(days, _zone_of(taken), *each) for each in zip(free, left, strict=True)]


async def _measure_team(work: Work, taken: Claimed, days: Days) -> list[TakenShare]:
    since, until = _spans(days, taken)
    which = ByBooking(taken.event_type.id, _found_of(taken).inputs.minutes)
    left = await find(work, which, since, is_team=True, until=until)
    numbers = left.inputs.hosts.keys()
    closing = await list_unconfirmed_claims(work.db, numbers, since=since, until=until, now=work.now)
    free = await reread_hosts(work.db, left, numbers, starts=(since, until), changing=closing)
    return [_measure(days, _zone_of(taken), free.inputs, left.inputs)]


def _measure(days: Days, zone: ZoneInfo, free: SlotInputs, left: SlotInputs) -> TakenShare:
    open_without = set(list_slots(free, days, viewer=zone).starts)
    closed = open_without.difference(list_slots(left, days, viewer=zone).starts)
    return TakenShare(len(closed), len(open_without))


def _spans(days: Days, taken: Claimed) -> tuple[datetime, datetime]:
    spans = spans_of(days, _zone_of(taken))
    return at_second(spans[0][0]), at_second(spans[-1][1])


def _day_of(taken: Claimed, moment: datetime) -> date:
    return date_of(local_day(_zone_of(taken), floor_second(moment)))


def _zone_of(taken: Claimed) -> ZoneInfo:
    return get_zone(_found_of(taken).inputs.calendar.zone)


def _found_of(taken: Claimed) -> SlotContext:
    if taken.found is None:
        raise TypeError("it was not judged")
    return taken.found


def _wait(others: Sequence[Unconfirmed], now: datetime) -> int:
    """Return after how many seconds the next of them ends, at least one."""
    ends = [each.kept_until for each in others if each.kept_until is not None]
    return max(1, ceil((min(ends, default=now + ASK_AGAIN) - now).total_seconds()))
