"""Stripe's objects of billing as far as they are read, and the nouns that are made of them."""

from msgspec import Struct

from openslot.domains.payments.models import CheckoutStatus, Mode
from openslot.domains.payments.ports import AnswerUnreadable
from openslot.domains.plans.models import BillingPeriod, PlanCheckout, Price, Subscription, SubscriptionStatus
from openslot.vendors.stripe.amounts import from_stripe
from openslot.vendors.stripe.wire import SUBSCRIBER, mode_of, moment

BOUGHT_PLAN = "openslot_plan"


class WireRecurring(Struct, frozen=True):
    interval: BillingPeriod
    interval_count: int = 1


class WirePrice(Struct, frozen=True):
    id: str
    currency: str
    unit_amount: int | None = None
    recurring: WireRecurring | None = None


class WirePriceId(Struct, frozen=True):
    id: str


class WireItem(Struct, frozen=True):
    price: WirePriceId
    current_period_start: int
    current_period_end: int


class WireItems(Struct, frozen=True):
    data: list[WireItem]


class WireBillingObject(Struct, frozen=True, kw_only=True):
    id: str
    livemode: bool

    @property
    def mode(self) -> Mode:
        return mode_of(livemode=self.livemode)


class WireSubscription(WireBillingObject, frozen=True, kw_only=True):
    customer: str
    status: str
    created: int
    items: WireItems
    cancel_at: int | None = None
    cancel_at_period_end: bool = False
    metadata: dict[str, str] | None = None


class WirePlanCheckout(WireBillingObject, frozen=True, kw_only=True):
    status: CheckoutStatus
    url: str | None = None
    customer: str | None = None
    subscription: str | None = None


class WirePortal(Struct, frozen=True):
    url: str


def to_price(price: WirePrice) -> Price:
    if price.unit_amount is None or price.recurring is None:
        raise AnswerUnreadable("Stripe's price is not a fixed amount for each period")
    return Price(
        id=price.id,
        amount=from_stripe(price.unit_amount, price.currency),
        period=price.recurring.interval,
        period_count=price.recurring.interval_count,
    )


def to_subscription(subscription: WireSubscription) -> Subscription:
    """Read a subscription; the period is that of its items, and of several the last one to end."""
    if not subscription.items.data:
        raise AnswerUnreadable("Stripe's subscription has no items")
    item = max(subscription.items.data, key=lambda each: each.current_period_end)
    ends_at = subscription.cancel_at or (item.current_period_end if subscription.cancel_at_period_end else None)
    known = subscription.status in set(SubscriptionStatus)
    notes = subscription.metadata or {}
    return Subscription(
        id=subscription.id,
        mode=subscription.mode,
        customer_id=subscription.customer,
        status=SubscriptionStatus(subscription.status) if known else SubscriptionStatus.OTHER,
        price_id=item.price.id,
        period_start=moment(item.current_period_start),
        period_end=moment(item.current_period_end),
        created_at=moment(subscription.created),
        ends_at=moment(ends_at) if ends_at else None,
        bought_plan=notes.get(BOUGHT_PLAN),
        subscriber_id=notes.get(SUBSCRIBER),
    )


def to_checkout(session: WirePlanCheckout) -> PlanCheckout:
    return PlanCheckout(
        id=session.id,
        mode=session.mode,
        status=session.status,
        url=session.url,
        customer_id=session.customer,
        subscription_id=session.subscription,
    )
