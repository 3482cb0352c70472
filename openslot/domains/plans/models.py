"""The nouns of plans by subscription: what the provider tells of them, and what is stored."""

from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import Money
from openslot.domains.payments.models import CheckoutStatus, Mode


class SubscriptionStatus(StrEnum):
    """The provider's status; how each counts is decided in `subscription_rules.py`."""

    INCOMPLETE = "incomplete"
    INCOMPLETE_EXPIRED = "incomplete_expired"
    TRIALING = "trialing"
    ACTIVE = "active"
    PAST_DUE = "past_due"
    UNPAID = "unpaid"
    CANCELLED = "canceled"
    PAUSED = "paused"
    OTHER = "other"
    """A status that we don't know."""

    @property
    def is_over(self) -> bool:
        """Whether it can never come back."""
        return self in {SubscriptionStatus.CANCELLED, SubscriptionStatus.INCOMPLETE_EXPIRED}


class BillingPeriod(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class Price(Struct, frozen=True, kw_only=True):
    """What a plan costs, as the provider has it."""

    id: str
    amount: Money
    period: BillingPeriod
    period_count: int = 1


class Subscription(Struct, frozen=True, kw_only=True):
    """A subscription as it is now."""

    id: str
    mode: Mode
    customer_id: str
    status: SubscriptionStatus
    price_id: str
    period_start: datetime
    period_end: datetime
    created_at: datetime
    ends_at: datetime | None = None
    """When it ends, if it was cancelled for a later time."""
    bought_plan: str | None = None
    """The plan that it was bought for, by a note of ours; the price decides first."""
    subscriber_id: str | None = None
    """The user or organization that has it, by a note of ours."""


class PlanCheckout(Struct, frozen=True, kw_only=True):
    """A checkout for a subscription, as it is now."""

    id: str
    mode: Mode
    status: CheckoutStatus
    url: str | None = None
    customer_id: str | None = None
    subscription_id: str | None = None


class PlanCheckoutWanted(Struct, frozen=True, kw_only=True):
    subscriber_id: UUID
    plan: Plan
    price_id: str
    customer_id: str | None
    """The one that is there already; None lets the provider make one with the address."""
    email: str
    success_url: str
    cancel_url: str
    expires_at: datetime
    language: str = "auto"


class Subscriber(Struct, frozen=True, kw_only=True):
    """A user or an organization with its subscription, or with the checkout where one can begin."""

    id: UUID
    user_id: UUID | None = None
    organization_id: UUID | None = None
    version: int = 0
    """Counts the changes: what was read from the provider is only applied to the version for which it was read."""
    mode: Mode
    customer_id: str | None = None
    attempt: int = 0
    session_id: str | None = None
    session_url: str | None = None
    session_plan: Plan | None = None
    session_expires_at: datetime | None = None
    """When the last opened checkout expires; its id is missing while the provider is asked."""
    subscription_id: str | None = None
    plan: Plan | None = None
    """The one that was bought; what is left of it is told by `subscription_rules.find_grant`."""
    plan_until: datetime | None = None
    status: SubscriptionStatus | None = None
    paid_until: datetime | None = None
    """The end of the last period that was paid."""
    grace_until: datetime | None = None
    """When the plan lapses unless it is paid."""
    ends_at: datetime | None = None
    second_id: str | None = None
    """A second subscription, which is being cancelled or was."""
    next_read_at: datetime | None = None
    checked_at: datetime | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def is_subscribed(self) -> bool:
        """Whether there is a subscription that is not over: no second one can begin."""
        return self.status is not None and not self.status.is_over


class StoredPrice(Struct, frozen=True, kw_only=True):
    """A price as it was read the last time."""

    id: str
    amount: int
    currency: str
    period: BillingPeriod
    period_count: int
    read_at: datetime


class PlanPrices(Struct, frozen=True, kw_only=True):
    """The operator's prices, and how long a plan outlives a payment that fails."""

    by_plan: dict[Plan, str]
    grace: timedelta

    def find_plan(self, subscription: Subscription, *, known: Plan | None) -> Plan:
        """Find the plan of a price; one that is no longer offered stands for what is known, or was bought."""
        for plan, price_id in self.by_plan.items():
            if price_id == subscription.price_id:
                return plan
        if known not in (None, Plan.FREE):
            return known
        return Plan(subscription.bought_plan) if subscription.bought_plan in set(Plan) else Plan.FREE
