"""Offers: which free time is kept for whom, and how that ends. The caller of each verb has locked the host."""

from collections.abc import Collection
from datetime import date, datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from openslot.domains.availability.claims.operations import free_offered_slot, offer_slot
from openslot.domains.availability.models import ByBooking, Code, Slots
from openslot.domains.availability.operations import explain_start_time, list_open_slots
from openslot.domains.bookings.pending import HAND_OUT
from openslot.domains.event_types.errors import EventTypeNotFound
from openslot.domains.event_types.rules import is_offered
from openslot.domains.wait_list import rules, store
from openslot.domains.wait_list.events import WaitListAccepted, WaitListOffered, WaitListOfferEnded
from openslot.domains.wait_list.models import Offer, OfferState, Waiting, WaitListEntry, WaitPosition
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work
from openslot.platform.jobs.each import serve_each

MAX_LOOKED_AT, MAX_READS = 50, 10
"""How many entries are looked at, and how many days of a calendar are read, while a host is locked."""


class Round(NamedTuple):
    """What was handed out while the host was locked."""

    offered: int
    last: WaitPosition | None
    """The last entry of this round, where the next one goes on; None if everybody was looked at."""


async def hand_out_freed(work: Work, host_id: UUID, freed: Collection[date]) -> int:
    """Offer what was freed on some days in the transaction that frees it; return how many offers that are.

    A bounded number of those who wait is looked at; the job goes on with the others at once.
    """
    await _end_late(work, host_id)
    await store.wait_again(work.db, host_id)
    handed = await hand_out(work, host_id, days=freed)
    if handed.last is not None:
        await work.plan(HAND_OUT, str(host_id), due_at=work.now, tenant_id=host_id)
    return handed.offered


async def hand_out(
    work: Work, host_id: UUID, *, days: Collection[date] | None = None, after: WaitPosition | None = None
) -> Round:
    """Offer what is free to some of those who wait, for these days or for any.

    Whoever has waited longest comes first. Those who were offered a time before are not offered it again, nor those
    who booked it and did not pay, or were not confirmed: they wait for another one.
    """
    waiting = await store.list_waiting(work.db, host_id, now=work.now, days=days, after=after, limit=MAX_LOOKED_AT)
    earlier = await store.list_offers(work.db, [each.entry.id for each in waiting]) if waiting else {}
    slots: dict[tuple[object, ...], Slots] = {}
    offered: set[str] = set()
    reads, last = 0, after
    for each in waiting:
        if each.address not in offered and _is_on(each):
            if _asked(each) not in slots:
                if reads == MAX_READS:
                    return Round(len(offered), last)
                reads += 1
                slots[_asked(each)] = await _list_around(work, each)
            start = rules.choose_start(each.entry, slots[_asked(each)], earlier.get(each.entry.id, ()))
            if start is not None and await _try_to_offer(work, each, start):
                offered.add(each.address)
                # What is offered is not open any more.
                slots.clear()
        last = WaitPosition(each.entry.created_at, each.entry.id)
    return Round(len(offered), last if len(waiting) == MAX_LOOKED_AT else None)


async def _try_to_offer(work: Work, each: Waiting, start: datetime) -> bool:
    made = await serve_each(work, "wait_list.offer", [each], partial(_offer, work, start), key=_id_of)
    return any(made.results)


def _id_of(each: Waiting) -> UUID:
    return each.entry.id


def _is_on(each: Waiting) -> bool:
    minutes, event_type = each.entry.minutes, each.event_type
    return is_offered(event_type) and (minutes is None or minutes in event_type.all_durations)


def _asked(each: Waiting) -> tuple[object, ...]:
    return each.entry.event_type_id, each.entry.day, each.entry.minutes


async def _list_around(work: Work, each: Waiting) -> Slots:
    """List what is open around a day, read once for whoever waits for it, in all time zones."""
    day, one = each.entry.day, timedelta(days=1)
    _, slots, _ = await list_open_slots(work, each.which, timezone="UTC", first=day - one, last=day + one)
    return slots


async def _offer(work: Work, starts_at: datetime, each: Waiting) -> bool:
    planned = rules.plan_offer(each.event_type, starts_at, now=work.now)
    if planned is None:
        return False
    kept_until, told_until = planned
    claimed = await offer_slot(work, each.which, starts_at, expires_at=kept_until)
    offer = Offer(
        id=new_id(),
        entry_id=each.entry.id,
        host_id=each.entry.host_id,
        email=each.entry.email,
        claim_id=claimed.claim_id,
        seat_id=claimed.seat_id,
        starts_at=claimed.starts_at,
        ends_at=claimed.ends_at,
        made_at=work.now,
        expires_at=told_until,
    )
    work.stage(store.insert_offer(offer))
    await work.record(
        WaitListOffered(
            entry_id=each.entry.id,
            event_type_id=each.entry.event_type_id,
            host_id=each.entry.host_id,
            offer_id=offer.id,
            starts_at=offer.starts_at,
            ends_at=offer.ends_at,
            expires_at=offer.expires_at,
        )
    )
    return True


async def end_over(work: Work, host_id: UUID) -> None:
    """End the offers that nobody has taken in time, and those whose time the host has closed."""
    for offer, each in await store.list_live(work.db, host_id):
        if not offer.is_open(now=work.now):
            await end(work, offer, each.entry, OfferState.EXPIRED)
        elif not await _still_stands(work, offer, each):
            await end(work, offer, each.entry, OfferState.WITHDRAWN)


async def _end_late(work: Work, host_id: UUID) -> None:
    """End the offers that nobody has taken in time: their times may be open already."""
    for offer, each in await store.list_live(work.db, host_id):
        if not offer.is_open(now=work.now):
            await end(work, offer, each.entry, OfferState.EXPIRED)


async def _still_stands(work: Work, offer: Offer, each: Waiting) -> bool:
    event_type = each.event_type
    if event_type.wait_list_minutes is None or not event_type.active or offer.hold_id is None:
        return False
    # How long the meeting is was decided when it was offered.
    which = ByBooking(event_type.id, each.entry.minutes)
    try:
        explained = await explain_start_time(work, which, offer.starts_at, without=offer.hold_id)
    except EventTypeNotFound:
        # The host's account is disabled.
        return False
    return explained.code is Code.OPEN


async def end(work: Work, offer: Offer, entry: WaitListEntry, state: OfferState) -> None:
    """End an offer without a booking, and free its time."""
    if offer.claim_id is not None:
        free_offered_slot(work, offer.claim_id, offer.seat_id)
    work.stage(store.end_offer(offer.id, state, now=work.now))
    await work.record(
        WaitListOfferEnded(
            entry_id=entry.id,
            event_type_id=entry.event_type_id,
            host_id=entry.host_id,
            offer_id=offer.id,
            starts_at=offer.starts_at,
            ends_at=offer.ends_at,
            state=state,
        )
    )


async def accept(work: Work, entry: WaitListEntry, offer: Offer) -> None:
    """End an offer because its time is booked, in the transaction that books it."""
    work.stage(store.end_offer(offer.id, OfferState.ACCEPTED, now=work.now), store.finish_entry(entry.id))
    await work.record(
        WaitListAccepted(entry_id=entry.id, event_type_id=entry.event_type_id, host_id=entry.host_id, offer_id=offer.id)
    )
