"""Offers: which free time is kept for whom, and how that ends. The caller of each verb has locked the host."""

from datetime import datetime
from uuid import UUID

from openslot.availability import claims
from openslot.availability import operations as availability
from openslot.availability.models import ByBooking, Code, Slots
from openslot.core.ids import new_id
from openslot.core.work import Work
from openslot.event_types.errors import EventTypeNotFound
from openslot.event_types.rules import is_offered
from openslot.wait_list import rules, store
from openslot.wait_list.events import WaitListAccepted, WaitListOffered, WaitListOfferEnded
from openslot.wait_list.models import Offer, OfferState, Waiting, WaitListEntry

MAX_WAITING = 500


async def hand_out(work: Work, host_id: UUID) -> int:
    """End a host's offers that are over, offer what is free to those who wait, and return how many offers that are.

    Whoever has waited longest comes first. Those who were offered a time before are not offered it again, nor those
    who booked it and did not pay, or were not confirmed: they wait for another one.
    """
    await _end_over(work, host_id)
    await store.wait_again(work.db, host_id)
    waiting = await store.list_waiting(work.db, host_id, now=work.now, limit=MAX_WAITING)
    earlier = await store.list_offers(work.db, [each.entry.id for each in waiting]) if waiting else {}
    slots: dict[tuple[object, ...], Slots] = {}
    offered: set[str] = set()
    for each in waiting:
        if each.entry.address in offered or not _is_on(each):
            continue
        found = await _list_open(work, each, slots)
        before = earlier.get(each.entry.id, ())
        start = rules.choose_start(each.entry, found.starts, found.duration, before)
        if start is not None and await _offer(work, each, start):
            offered.add(each.entry.address)
            # What is offered is not open any more.
            slots.clear()
    return len(offered)


def _is_on(each: Waiting) -> bool:
    minutes, event_type = each.entry.minutes, each.event_type
    return is_offered(event_type) and (minutes is None or minutes in event_type.all_durations)


async def _list_open(work: Work, each: Waiting, slots: dict[tuple[object, ...], Slots]) -> Slots:
    entry = each.entry
    asked = (entry.event_type_id, entry.day, entry.zone, entry.minutes)
    if asked not in slots:
        _, slots[asked], _ = await availability.list_open(
            work, each.which, timezone=entry.zone, first=entry.day, last=entry.day
        )
    return slots[asked]


async def _offer(work: Work, each: Waiting, starts_at: datetime) -> bool:
    planned = rules.plan_offer(each.event_type, starts_at, now=work.now)
    if planned is None:
        return False
    kept_until, told_until = planned
    claimed = await claims.offer(work, each.which, starts_at, expires_at=kept_until)
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


async def _end_over(work: Work, host_id: UUID) -> None:
    """End the offers that nobody has taken in time, and those whose time the host has closed."""
    for offer, each in await store.list_live(work.db, host_id):
        if not offer.is_open(now=work.now):
            await end(work, offer, each.entry, OfferState.EXPIRED)
        elif not await _still_stands(work, offer, each):
            await end(work, offer, each.entry, OfferState.WITHDRAWN)


async def _still_stands(work: Work, offer: Offer, each: Waiting) -> bool:
    event_type = each.event_type
    if event_type.wait_list_minutes is None or not event_type.active or offer.hold_id is None:
        return False
    # How long the meeting is was decided when it was offered.
    which = ByBooking(event_type.id, each.entry.minutes)
    try:
        explained = await availability.explain(work, which, offer.starts_at, without=offer.hold_id)
    except EventTypeNotFound:
        # The host's account is disabled.
        return False
    return explained.code is Code.OPEN


async def end(work: Work, offer: Offer, entry: WaitListEntry, state: OfferState) -> None:
    """End an offer without a booking, and free its time."""
    if offer.claim_id is not None:
        claims.free_offer(work, offer.claim_id, offer.seat_id)
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
