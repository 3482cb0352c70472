"""What the wait list does because time was freed or has passed: hand it out, and tidy up."""

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from functools import partial
from operator import itemgetter
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.store import lock_host, try_lock_host
from openslot.domains.availability.claims.operations import erase_freed_time
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingDeclined,
    BookingEvent,
    BookingLapsed,
    BookingRescheduled,
    BookingWithdrawn,
)
from openslot.domains.bookings.pending import HAND_OUT
from openslot.domains.wait_list import offers, operations, rules, store
from openslot.domains.wait_list.errors import EntryNotFound
from openslot.domains.wait_list.events import WaitListOffered
from openslot.domains.wait_list.models import WaitPosition
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect, Event
from openslot.platform.core.work import Consequence, Done, Outcome, Periodic, Reaction, Runtime, Skipped, Work
from openslot.platform.i18n import CodedReason
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

Lock = Callable[[Work], Awaitable[bool]]

AT_ONCE = 1000
MAX_ROUNDS, MAX_ROUNDS_OF_HOST = 200, 20
"""How many rounds a run of the job has, and how many of them one host can use; each reads up to ten calendar days."""
VISITS_KEPT_FOR = timedelta(days=1)
END_UNTOLD = "wait_list.end_untold"
FREED = (BookingCancelled, BookingRescheduled, BookingDeclined, BookingLapsed, BookingWithdrawn)


async def offer_freed(work: Work, event: Event) -> None:
    """Offer a freed time in the transaction that frees it, so that nobody else takes it; the host is locked."""
    if not isinstance(event, BookingEvent) or event.event_type.wait_list_minutes is None:
        return
    offer = partial(offers.hand_out_freed, work.acting_as(SYSTEM), freed=_list_freed(event))
    # Whoever cancels must not fail because of those who wait: the minute's job tries it again.
    await serve_each(work, HAND_OUT, [event.booking.host_id], offer)


def _list_freed(event: BookingEvent) -> frozenset[date]:
    """List the days on which an event has freed time."""
    booking = event.booking
    if isinstance(event, BookingRescheduled):
        return rules.days_around((event.previous_starts_at, event.previous_ends_at))
    dates = ((each.starts_at, each.ends_at) for each in event.series)
    return rules.days_around((booking.starts_at, booking.ends_at), *dates)


NO_HOST = CodedReason("wait_list.no_host", "the account is deleted", said="it belongs to no host")
NOBODY_WAITS = CodedReason(
    "wait_list.nobody_waits", "it is no longer needed", said="nobody waits by this entry any more"
)


async def hand_out(work: Work, effect: Effect) -> Outcome:
    """Hand out what was freed of a host's time."""
    if effect.tenant_id is None:
        return Skipped(NO_HOST)
    lock = partial(_lock, host_id=effect.tenant_id)
    await _hand_out_of(work.runtime, lock, effect.tenant_id, after=None, rounds=_Rounds(MAX_ROUNDS_OF_HOST))
    return Done()


async def plan_end_of_untold(work: Work, effect: Effect) -> None:
    """Plan the end of an offer whose mail will not be sent; the host's lock can't be taken while its effect is."""
    event = effect.event(WaitListOffered)
    target = f"{event.entry_id}/{event.offer_id}"
    await work.plan(END_UNTOLD, target, due_at=work.now, tenant_id=event.host_id, target=target)


async def end_untold(work: Work, effect: Effect) -> Outcome:
    """End an offer whose mail will not be sent."""
    entry_id, offer_id = (UUID(each) for each in (effect.target or "").split("/"))
    try:
        async with work.runtime.transaction(SYSTEM) as own:
            await operations.end_untold(own, entry_id=entry_id, offer_id=offer_id)
    except EntryNotFound:
        return Skipped(NOBODY_WAITS)
    return Done()


async def hand_out_all(work: Work) -> str:
    """End offers whose time is over, and offer what is free, one host after the other; the next run goes on."""
    hosts = await store.list_hosts(work.db, now=work.now, limit=AT_ONCE)
    visit = partial(_visit, work, _Rounds(MAX_ROUNDS))
    made = await serve_each(work, HAND_OUT, hosts, visit, key=itemgetter(0))
    return f"{sum(made.results)} times offered"


class _Rounds(Struct):
    """How many rounds may still begin."""

    left: int


async def _visit(work: Work, rounds: _Rounds, host: tuple[UUID, int]) -> int:
    """Hand out one host's time from where the last run stopped, unless someone is changing it."""
    if not rounds.left:
        return 0
    host_id, no = host
    after = await store.begin_visit(work.db, host_id, now=work.now)
    lock = partial(_try_lock, no=no)
    handed = await _hand_out_of(work.runtime, lock, host_id, after=after, rounds=rounds)
    await store.end_visit(work.db, host_id, handed.last)
    return handed.offered


async def _try_lock(work: Work, *, no: int) -> bool:
    return await try_lock_host(work.db, no)


async def _lock(work: Work, *, host_id: UUID) -> bool:
    await lock_host(work.db, host_id)
    return True


async def _hand_out_of(
    runtime: Runtime, lock: Lock, host_id: UUID, *, after: WaitPosition | None, rounds: _Rounds
) -> offers.Round:
    """Hand out one host's time in a few rounds, so that the host is never locked for long."""
    offered, last = 0, after
    for number in range(min(rounds.left, MAX_ROUNDS_OF_HOST)):
        rounds.left -= 1
        async with runtime.transaction(SYSTEM) as work:
            if not await lock(work):
                break
            if number == 0:
                await offers.end_over(work, host_id)
                await store.wait_again(work.db, host_id)
            handed = await offers.hand_out(work, host_id, after=last)
        offered, last = offered + handed.offered, handed.last
        if last is None:
            break
    return offers.Round(offered, last)


async def tidy(work: Work) -> str:
    """Remove entries that were not confirmed in time or whose day is long over, and what is left of offers."""
    before, asked_before = work.now - rules.KEPT_FOR, work.now - rules.PROVEN_WITHIN

    async def erase_claims(limit: int) -> int:
        async with work.runtime.transaction(SYSTEM) as own:
            gone = await store.take_ended_claims(own.db, before=asked_before, limit=limit)
            await erase_freed_time(own, [claim for claim, _ in gone], [seat for _, seat in gone if seat])
        return len(gone)

    await repeat(erase_claims)
    removed = await repeat(
        lambda limit: store.delete_over(work.db, before=before, asked_before=asked_before, limit=limit)
    )
    await store.delete_visits(work.db, before=work.now - VISITS_KEPT_FOR)
    return f"{removed} entries removed"


WAIT_LIST_CONSEQUENCES = tuple(
    Consequence(name=f"wait_list.offer_freed:{event.type}", on=event, run=offer_freed) for event in FREED
)
WAIT_LIST_REACTIONS = (
    Reaction(name=HAND_OUT, on=FREED, run=hand_out, wanted_if=store.OTHERS_WAIT),
    Reaction(name=END_UNTOLD, run=end_untold),
)
WAIT_LIST_JOBS = (
    Periodic(name=HAND_OUT, expression="* * * * *", run=hand_out_all, transaction="none"),
    Periodic(name="wait_list.tidy", expression="17 * * * *", run=tidy, transaction="none"),
)
