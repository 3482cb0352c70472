"""What is done with subscriptions because time passed, or because an account or organization is deleted."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog

from openslot.domains.accounts.events import OrganizationDeleted, UserDeletionBegun, UserDisabled
from openslot.domains.payments.ports import CheckoutBusy, CheckoutFault, CheckoutUnavailable, KeyRefused
from openslot.domains.plans import store
from openslot.domains.plans.models import StoredPrice
from openslot.domains.plans.operations import (
    CANCEL_SECOND,
    SecondSubscription,
    end,
    find_plan_mode,
    find_plan_prices,
    opened,
    read_anew,
)
from openslot.domains.plans.ports import Billing
from openslot.platform.core.actor import SYSTEM, Destination
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Periodic, Reaction, Runtime, Skipped, TryLater, Work
from openslot.platform.i18n import CodedReason
from openslot.platform.jobs.each import serve_each

READ = "plans.read"
NOT_SOLD = CodedReason("plans.not_sold", "plans are not sold")
AT_ONCE = 200
# Events appear late and out of order.
OVERLAP = timedelta(minutes=5)
PRICES_LAST = timedelta(hours=1)
AFTER_A_FAULT = timedelta(hours=1)
DELAYS = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), *(timedelta(hours=8),) * 20)
# Faults that every other request would have too.
NOBODY_ANSWERS = (CheckoutUnavailable, CheckoutBusy, KeyRefused)

log = structlog.get_logger()


async def read_plans(work: Work) -> str:
    """Read what has happened to subscriptions, those that are due, and the prices; end those of nobody."""
    if find_plan_mode(work.runtime.settings) is None:
        return "plans are not sold"
    steps = (read_events, read_due, end_orphans, read_prices)
    async with opened(work.runtime) as billing:
        read = await serve_each(
            work, READ, steps, lambda step: step(work.runtime, billing), key=lambda step: step.__name__
        )
    return f"{sum(read.results)} read"


async def read_events(runtime: Runtime, billing: Billing) -> int:
    """Plan the reading of every subscription to which something has happened."""
    now = runtime.clock()
    known = await store.find_feed(runtime.pool, billing.mode)
    read_until, seen = known or (now, [])
    found = await billing.list_notices(since=read_until - OVERLAP)
    new = [each for each in found if each.id not in seen]
    ids = {id_ for each in new for id_ in (each.reference, each.subscription_id, each.customer_id) if id_}
    read_until = max([read_until, *(each.created_at for each in found)])
    recent = [each.id for each in found if each.created_at >= read_until - OVERLAP]
    if new or known is None:
        async with runtime.transaction(SYSTEM) as work:
            await store.read_soon(work.db, sorted(ids), now=now)
            await store.upsert_feed(work.db, billing.mode, read_until=read_until, seen=recent)
    return 0


async def read_due(runtime: Runtime, billing: Billing) -> int:
    """Read the subscriptions that are due; one that can't be read does not keep the others from it."""
    due = await store.list_due(runtime.pool, billing.mode, now=runtime.clock(), limit=AT_ONCE)

    async def read(subscriber_id: UUID) -> None:
        try:
            await read_anew(runtime, billing, subscriber_id)
        except NOBODY_ANSWERS:
            raise
        # Whatever it is: those that can't be read come after the others next time.
        except Exception:
            await store.read_later(runtime.pool, subscriber_id, runtime.clock() + AFTER_A_FAULT)
            raise

    await serve_each(runtime.work(SYSTEM), READ, due, read, for_all=NOBODY_ANSWERS)
    return len(due)


async def end_orphans(runtime: Runtime, billing: Billing) -> int:
    """Cancel the subscriptions of accounts that are disabled or deleted, and of organizations that are deleted."""
    orphans = await store.list_orphans(runtime.pool, billing.mode, limit=AT_ONCE)
    ending = partial(end, runtime, billing)
    await serve_each(runtime.work(SYSTEM), READ, orphans, ending, key=lambda each: each.id, for_all=NOBODY_ANSWERS)
    return len(orphans)


async def read_prices(runtime: Runtime, billing: Billing) -> int:
    """Read the prices now and then, so that no page has to wait for the provider."""
    known, now = await store.list_prices(runtime.pool), runtime.clock()
    for price_id in find_plan_prices(runtime.settings).by_plan.values():
        if price_id in known and known[price_id].read_at > now - PRICES_LAST:
            continue
        price = await billing.get_price(price_id)
        stored = StoredPrice(
            id=price.id,
            amount=price.amount.amount,
            currency=price.amount.currency,
            period=price.period,
            period_count=price.period_count,
            read_at=now,
        )
        await store.upsert_price(runtime.pool, stored)
    return 0


async def cancel_orphans(work: Work, _: Effect) -> Outcome:
    """Cancel at once what the periodic job would cancel within a minute; an account's deletion waits for it."""
    if find_plan_mode(work.runtime.settings) is None:
        return Skipped(NOT_SOLD)
    try:
        async with opened(work.runtime) as billing:
            await end_orphans(work.runtime, billing)
    except CheckoutFault as fault:
        raise TryLater(str(fault)) from fault
    return Done()


async def cancel_second(work: Work, effect: Effect) -> Outcome:
    """Cancel a second subscription; what is left of its period lowers the bills of the first."""
    second = effect.plan(SecondSubscription)
    if find_plan_mode(work.runtime.settings) is None:
        return Skipped(NOT_SOLD)
    try:
        async with opened(work.runtime) as billing:
            await billing.cancel_subscription(second.subscription_id, is_credited=True)
    except CheckoutFault as fault:
        raise TryLater(str(fault)) from fault
    return Done(vendor_id=second.subscription_id)


def to_provider(work: Work, _: Effect) -> Destination:
    return Destination(work.runtime.settings.stripe_url, None)


SUBSCRIPTION_REACTIONS = (
    Reaction(
        name="plans.cancel_orphans",
        on=(UserDisabled, UserDeletionBegun, OrganizationDeleted),
        run=cancel_orphans,
        wanted_if=store.HAS_SUBSCRIBER,
        delays=DELAYS,
        destination=to_provider,
    ),
    Reaction(name=CANCEL_SECOND, run=cancel_second, delays=DELAYS, destination=to_provider),
)
SUBSCRIPTION_JOBS = (Periodic(name=READ, expression="* * * * *", run=read_plans, transaction="none"),)
