"""Which plan a subscription gives, and until when: decided from what the provider says now, whatever came before."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.plans import Plan
from openslot.domains.payments.models import CheckoutStatus
from openslot.domains.plans.models import PlanCheckout, PlanPrices, Subscriber, Subscription, SubscriptionStatus

PAID_STATUSES = frozenset({SubscriptionStatus.ACTIVE, SubscriptionStatus.TRIALING})
ON = PAID_STATUSES | {SubscriptionStatus.PAST_DUE}
# A period that was paid is over before the provider has billed the next one.
RENEWAL_TAKES = timedelta(hours=1)
READ_AT_LEAST_EVERY = timedelta(days=1)
READ_UNPAID_EVERY = timedelta(hours=1)


class SubscriptionDecision(Struct, frozen=True):
    subscriber: Subscriber
    second: Subscription | None = None
    """A second subscription that has to be cancelled."""


def find_grant(subscriber: Subscriber) -> tuple[Plan, datetime | None]:
    """Tell which plan a subscription gives, and until when."""
    if subscriber.status not in ON or subscriber.plan is None:
        return Plan.FREE, None
    return subscriber.plan, subscriber.plan_until


def decide(
    stored: Subscriber,
    found: Sequence[Subscription],
    checkout: PlanCheckout | None,
    prices: PlanPrices,
    *,
    now: datetime,
) -> SubscriptionDecision:
    """Bring what is stored up to date with what the provider has now: all subscriptions, and the last checkout."""
    known = _note_checkout(stored, checkout)
    chosen = choose(stored, found)
    if chosen is None:
        # A subscription that the provider does not list any more is over: its customer was deleted.
        status = SubscriptionStatus.CANCELLED if known.is_subscribed else known.status
        return SubscriptionDecision(_plan_reading(replace(known, status=status, checked_at=now), now=now))
    others = [each for each in found if each.id != chosen.id and not each.status.is_over]
    noted = _note_subscription(known, chosen, prices, now=now)
    return SubscriptionDecision(_plan_reading(noted, now=now), others[0] if others else None)


def is_ours(stored: Subscriber, subscription: Subscription, prices: PlanPrices) -> bool:
    """Answer whether a subscription is one of this subscriber: a customer may have bought other things too."""
    if subscription.subscriber_id is not None:
        return subscription.subscriber_id == str(stored.id)
    return subscription.id == stored.subscription_id or subscription.price_id in prices.by_plan.values()


def choose(stored: Subscriber, found: Sequence[Subscription]) -> Subscription | None:
    """Choose the one that counts: paid before unpaid before over, then the known one, then the oldest."""
    return min(
        found,
        key=lambda each: (
            each.status not in PAID_STATUSES,
            each.status not in ON,
            each.status.is_over,
            each.id != stored.subscription_id,
            each.created_at,
        ),
        default=None,
    )


def begin_grace(stored: Subscriber, subscription: Subscription, *, now: datetime) -> datetime:
    """Tell since when a payment is missing: the end of the paid period, or now if it failed within one."""
    if stored.paid_until is None or stored.paid_until > now:
        return now
    return max(stored.paid_until, min(subscription.period_start, now))


def _note_checkout(stored: Subscriber, checkout: PlanCheckout | None) -> Subscriber:
    if checkout is None or checkout.status is CheckoutStatus.OPEN:
        return stored
    return replace(
        stored,
        customer_id=checkout.customer_id or stored.customer_id,
        session_id=None,
        session_url=None,
        session_plan=None,
        session_expires_at=None,
    )


def _note_subscription(
    stored: Subscriber, subscription: Subscription, prices: PlanPrices, *, now: datetime
) -> Subscriber:
    is_same = stored.subscription_id == subscription.id
    same = stored if is_same else replace(stored, plan=None, paid_until=None, grace_until=None)
    is_paid = subscription.status in PAID_STATUSES
    grace_until = None
    if subscription.status is SubscriptionStatus.PAST_DUE:
        grace_until = same.grace_until or begin_grace(same, subscription, now=now) + prices.grace
    lapses = grace_until or subscription.period_end + max(prices.grace, RENEWAL_TAKES)
    return replace(
        same,
        customer_id=subscription.customer_id,
        subscription_id=subscription.id,
        plan=prices.find_plan(subscription, known=same.plan),
        plan_until=min(lapses, subscription.ends_at or lapses),
        status=subscription.status,
        paid_until=subscription.period_end if is_paid else same.paid_until,
        grace_until=grace_until,
        ends_at=subscription.ends_at,
        checked_at=now,
    )


def _plan_reading(subscriber: Subscriber, *, now: datetime) -> Subscriber:
    """Say when to read again although nobody tells: what is told can be lost."""
    due = [subscriber.session_expires_at + timedelta(minutes=1)] if subscriber.session_expires_at else []
    if subscriber.is_subscribed:
        paid_until = subscriber.paid_until if subscriber.status in PAID_STATUSES else None
        due.append(now + (READ_AT_LEAST_EVERY if paid_until else READ_UNPAID_EVERY))
        due += [each + timedelta(minutes=1) for each in (paid_until, subscriber.ends_at) if each and each > now]
    soonest = min(due, default=None)
    return replace(subscriber, next_read_at=max(soonest, now + timedelta(minutes=1)) if soonest else None)
