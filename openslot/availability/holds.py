"""How much of a host's time may be held at once; who holds a time and what was held before. A booking needs no hold."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil
from zoneinfo import ZoneInfo

from openslot.access.door import network_of
from openslot.availability import claim_store, store, team_claim_store
from openslot.availability.claim_store import LiveHold
from openslot.availability.errors import DayHoldLimitExceeded, HoldLimitExceeded, SlotRecentlyHeld
from openslot.availability.models import Days, SlotContext, SlotInputs
from openslot.availability.slots import list_slots, spans_of
from openslot.availability.team_slots import list_team_slots
from openslot.core.times import at_second, date_of, floor_second, get_zone, local_day
from openslot.core.work import Work

MAX_OF_ADDRESS, MAX_OF_NETWORK = 3, 12
ALWAYS = 2
"""How many holds a day of a host can have, however few times it has."""

AGAIN_AFTER = timedelta(minutes=10)


async def check_address(work: Work, holder: str) -> None:
    """Refuse what an address or its IPv6 network holds beyond its limit; others of it wait until the commit."""
    network = network_of(holder)
    await claim_store.lock_network(work.db, network)
    of_address, of_network = await claim_store.count_holds(work.db, holder, network, now=work.now)
    if of_address >= MAX_OF_ADDRESS or of_network >= MAX_OF_NETWORK:
        raise HoldLimitExceeded


async def check_again(work: Work, found: SlotContext, starts_at: datetime, *, holder: str) -> None:
    """Refuse to hold a time again that the same address has held until a moment ago."""
    ends_at, event_type = starts_at + found.inputs.duration, found.inputs.event_type
    if event_type.team_id is None:
        last = await claim_store.find_last_hold(work.db, holder, found.host_no, starts_at=starts_at, ends_at=ends_at)
    else:
        last = await team_claim_store.find_last_hold(
            work.db, holder, event_type.id, starts_at=starts_at, ends_at=ends_at
        )
    if last is not None and last + AGAIN_AFTER > work.now:
        raise SlotRecentlyHeld(retry_after=_seconds(last + AGAIN_AFTER - work.now))


async def check_limits(work: Work, found: SlotContext, starts_at: datetime) -> list[LiveHold]:
    """Refuse a hold that would take more than its share of a limit per day or week; return the other holds of its day.

    The host is locked, so that no other hold comes in between. Of a team's event type its own holds are counted.
    """
    event_type, zone = found.inputs.event_type, get_zone(found.inputs.schedule.zone)
    day = local_day(zone, floor_second(starts_at))
    monday = day - (day + 3) % 7
    spans = spans_of(Days(date_of(monday), date_of(monday + 6)), zone)
    since, until = at_second(spans[0][0]), at_second(spans[-1][1])
    if event_type.team_id is None:
        held = await claim_store.list_live_holds(work.db, found.host_no, since=since, until=until, now=work.now)
    else:
        held = await team_claim_store.list_live_holds(work.db, event_type.id, since=since, until=until, now=work.now)
    of_day = [each for each in held if local_day(zone, floor_second(each.starts_at)) == day]
    share = work.runtime.settings.hold_share
    for limit, counted in ((event_type.limits.per_day, of_day), (event_type.limits.per_week, held)):
        own = [each for each in counted if each.event_type_id == event_type.id]
        if limit is not None and len(own) >= max(1, limit * share // 100):
            raise _refuse(work, own)
    return of_day


async def check_share(work: Work, found: SlotContext, starts_at: datetime, others: Sequence[LiveHold]) -> None:
    """Refuse a hold, which is written already, if holds close more than their share of the day.

    Looked at is everything that the host offers: a few short holds can close all starts of a longer meeting.
    """
    if len(others) < ALWAYS:
        return
    event_type, zone = found.inputs.event_type, get_zone(found.inputs.schedule.zone)
    days, asked_from, asked_until = day_of(found.inputs, starts_at)
    free, left = [
        await store.list_settings(
            work.db, event_type, asked_from=asked_from, asked_until=asked_until, now=work.now, with_holds=with_holds
        )
        for with_holds in (False, True)
    ]
    share = work.runtime.settings.hold_share
    if any(closes_too_much(*each, days, zone, share=share) for each in zip(free, left, strict=True)):
        raise _refuse(work, others)


def day_of(inputs: SlotInputs, starts_at: datetime) -> tuple[Days, datetime, datetime]:
    """Return the day of the calendar on which a start is, and from when to when it is."""
    zone = get_zone(inputs.schedule.zone)
    on = date_of(local_day(zone, floor_second(starts_at)))
    spans = spans_of(Days(on, on), zone)
    return Days(on, on), at_second(spans[0][0]), at_second(spans[-1][1])


def check_team_share(work: Work, free: SlotInputs, left: SlotInputs, days: Days, others: Sequence[LiveHold]) -> None:
    """Refuse a hold of a team's event type, which is among what was read, if holds close more than their share."""
    if closes_too_much(free, left, days, get_zone(left.schedule.zone), share=work.runtime.settings.hold_share):
        raise _refuse(work, others)


def closes_too_much(free: SlotInputs, left: SlotInputs, days: Days, zone: ZoneInfo, *, share: int) -> bool:
    """Return whether holds close more than so many percent of the starts that are open without them."""
    lister = list_team_slots if left.team else list_slots
    open_without = set(lister(free, days, viewer=zone).starts)
    closed = open_without.difference(lister(left, days, viewer=zone).starts)
    return len(closed) * 100 > len(open_without) * share


def _refuse(work: Work, held: Sequence[LiveHold]) -> DayHoldLimitExceeded:
    return DayHoldLimitExceeded(retry_after=_seconds(min(each.expires_at for each in held) - work.now))


def _seconds(wait: timedelta) -> int:
    return max(1, ceil(wait.total_seconds()))
