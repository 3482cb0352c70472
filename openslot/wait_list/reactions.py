"""What the wait list does because time was freed or has passed: hand it out, and tidy up."""

from uuid import UUID

import structlog

from openslot.accounts.store import lock_host, try_lock_host
from openslot.availability import claims
from openslot.bookings.events import (
    BookingCancelled,
    BookingDeclined,
    BookingEvent,
    BookingLapsed,
    BookingRescheduled,
    BookingWithdrawn,
)
from openslot.bookings.pending import HAND_OUT
from openslot.core.actor import SYSTEM
from openslot.core.errors import Refusal
from openslot.core.events import Effect, Event
from openslot.core.work import Consequence, Done, Outcome, Periodic, Reaction, Runtime, Skipped, Work
from openslot.jobs.batches import repeat
from openslot.wait_list import offers, rules, store

log = structlog.get_logger()

AT_ONCE = 1000
FREED = (BookingCancelled, BookingRescheduled, BookingDeclined, BookingLapsed, BookingWithdrawn)


async def offer_freed(work: Work, event: Event) -> None:
    """Offer a freed time in the transaction that frees it, so that nobody else takes it; the host is locked."""
    if not isinstance(event, BookingEvent) or event.event_type.wait_list_minutes is None:
        return
    try:
        async with work.attempt():
            await offers.hand_out(work.acting_as(SYSTEM), event.booking.host_id)
    except Refusal:
        # Whoever cancels must not fail because of those who wait: the minute's job tries it again.
        log.exception("wait list: a freed time was not offered", booking=str(event.booking.id))


async def hand_out(work: Work, effect: Effect) -> Outcome:
    """Hand out what was freed of a host's time."""
    if effect.tenant_id is None:
        return Skipped("it belongs to no host")
    async with work.runtime.transaction(SYSTEM) as own:
        await lock_host(own.db, effect.tenant_id)
        await offers.hand_out(own, effect.tenant_id)
    return Done()


async def hand_out_all(work: Work) -> str:
    """End offers whose time is over, and offer what is free, one host and one transaction at a time."""
    made = 0
    for host_id, host_no in await store.list_hosts(work.db, now=work.now, limit=AT_ONCE):
        try:
            made += await _hand_out_of(work.runtime, host_id, host_no)
        except Refusal:
            # One host must not hold up the others.
            log.exception("wait list: nothing was offered", host=str(host_id))
    return f"{made} times offered"


async def _hand_out_of(runtime: Runtime, host_id: UUID, host_no: int) -> int:
    """Hand out one host's time, unless someone is changing it: the next run comes soon."""
    async with runtime.transaction(SYSTEM) as work:
        if not await try_lock_host(work.db, host_no):
            return 0
        return await offers.hand_out(work, host_id)


async def tidy(work: Work) -> str:
    """Remove entries that were not confirmed in time or whose day is long over, and what is left of offers."""
    before, asked_before = work.now - rules.KEPT_FOR, work.now - rules.PROVEN_WITHIN

    async def erase_claims(limit: int) -> int:
        async with work.runtime.transaction(SYSTEM) as own:
            gone = await store.take_ended_claims(own.db, before=asked_before, limit=limit)
            await claims.erase_freed(own, [claim for claim, _ in gone], [seat for _, seat in gone if seat])
        return len(gone)

    await repeat(erase_claims)
    removed = await repeat(
        lambda limit: store.delete_over(work.db, before=before, asked_before=asked_before, limit=limit)
    )
    return f"{removed} entries removed"


WAIT_LIST_CONSEQUENCES = tuple(
    Consequence(name=f"wait_list.offer_freed:{event.type}", on=event, run=offer_freed) for event in FREED
)
WAIT_LIST_REACTIONS = (Reaction(name=HAND_OUT, on=FREED, run=hand_out, wanted_if=store.OTHERS_WAIT),)
WAIT_LIST_JOBS = (
    Periodic(name="wait_list.hand_out", expression="* * * * *", run=hand_out_all, transaction="none"),
    Periodic(name="wait_list.tidy", expression="17 * * * *", run=tidy, transaction="none"),
)
