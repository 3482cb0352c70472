"""Plans by subscription: who subscribes, what the provider has of them now, and how a subscription ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.members.store import list_administrators
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.operations import clear_decided_plan, follow_user_subscription, get_user
from openslot.domains.accounts.organizations.operations import (
    clear_decided_organization_plan,
    follow_organization_subscription,
    get_organization_by_id,
)
from openslot.domains.accounts.organizations.store import is_organization_plan_decided
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.store import is_user_plan_decided
from openslot.domains.payments.errors import AlreadySubscribed, BillingUnavailable, PlanNotSold, PlanSetByAdministrator
from openslot.domains.payments.models import Mode, PaymentStep
from openslot.domains.payments.ports import CheckoutFault, CheckoutRefused
from openslot.domains.plans import rules, store
from openslot.domains.plans.models import (
    PlanCheckout,
    PlanCheckoutWanted,
    PlanPrices,
    StoredPrice,
    Subscriber,
    Subscription,
)
from openslot.domains.plans.ports import Billing, Billings
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime, Work

# How long a checkout can be paid; the provider allows half an hour to a day.
CHECKOUT_LASTS = timedelta(hours=1)
# How long a second click still means the same checkout while the provider is asked.
SAME_CLICK = timedelta(minutes=1)
# How much of its time a checkout needs to be worth going back to.
WORTH_REUSING = timedelta(minutes=10)
# The provider's own word for what is not there.
MISSING = "resource_missing"
CANCEL_SECOND = "plans.cancel_second"
TELL_SECOND = "plans.tell_second"


class PlanOwner(Struct, frozen=True, kw_only=True):
    """Who subscribes: a user, or an organization by one of its administrators."""

    user: User
    organization_id: UUID | None = None

    @property
    def id(self) -> UUID:
        return self.organization_id or self.user.id

    @property
    def path(self) -> str:
        """The page of their plan."""
        return "/organization/plan" if self.organization_id else "/account/plan"


class SecondSubscription(Struct, frozen=True, kw_only=True):
    """A second subscription of one owner."""

    subscription_id: str
    told_id: UUID | None = None
    """The user who is notified; None if it is about the subscription itself."""


def find_plan_prices(settings: Settings) -> PlanPrices:
    given = {Plan.PRO: settings.stripe_price_pro, Plan.BUSINESS: settings.stripe_price_business}
    by_plan = {plan: price_id for plan, price_id in given.items() if price_id is not None}
    return PlanPrices(by_plan=by_plan, grace=timedelta(days=settings.plan_grace_days))


def find_plan_mode(settings: Settings) -> Mode | None:
    """Tell whether the operator's key moves money; None if plans are not sold."""
    if settings.stripe_key is None:
        return None
    return Mode.TEST if settings.stripe_key[2:].startswith("_test_") else Mode.LIVE


async def find_subscriber(work: Work, owner_id: UUID) -> Subscriber | None:
    """Find what a user or an organization has with the operator's present key."""
    mode = find_plan_mode(work.runtime.settings)
    return await store.find_of_owner(work.db, owner_id, mode) if mode else None


async def list_plan_prices(work: Work) -> dict[str, StoredPrice]:
    """List the prices that were read, by their ids."""
    return await store.list_prices(work.db)


@asynccontextmanager
async def opened(runtime: Runtime) -> AsyncIterator[Billing]:
    """Open the operator's account; no transaction may be open."""
    billing = runtime.ports.get(Billings).open(runtime.outbound.on_behalf_of(None))
    if billing is None:
        raise PlanNotSold
    try:
        yield billing
    finally:
        await billing.close()


async def subscribe_to_plan(runtime: Runtime, owner: PlanOwner, plan: Plan) -> str:
    """Open a checkout, or the one that is open already, and return its address."""
    price_id = find_plan_prices(runtime.settings).by_plan.get(plan)
    if price_id is None:
        raise PlanNotSold
    try:
        async with opened(runtime) as billing:
            begun = await _begin(runtime, billing, owner, plan)
            if begun.session_url is not None:
                return begun.session_url
            try:
                return await _open_checkout(runtime, billing, owner, begun, price_id)
            except CheckoutRefused as refused:
                if refused.code != MISSING or begun.customer_id is None:
                    raise
            again = await _forget_customer(runtime, begun, plan)
            return await _open_checkout(runtime, billing, owner, again, price_id)
    except CheckoutFault as fault:
        raise BillingUnavailable from fault


async def open_plan_portal(runtime: Runtime, owner: PlanOwner) -> str:
    """Return the address of the provider's page where a plan is changed, paid and cancelled."""
    found = await find_subscriber(runtime.work(SYSTEM), owner.id)
    if found is None or found.customer_id is None:
        raise PlanNotSold
    return_url = f"{runtime.settings.public_url}{owner.path}/return"
    try:
        async with opened(runtime) as billing:
            return await billing.open_portal(
                found.customer_id, return_url=return_url, step=PaymentStep(new_id(), "portal")
            )
    except CheckoutFault as fault:
        raise BillingUnavailable from fault


async def read_anew(runtime: Runtime, billing: Billing, subscriber_id: UUID) -> None:
    """Read what the provider has now and decide from it; whoever changes the row meanwhile makes it start again."""
    for _ in range(3):
        stored = await store.find(runtime.pool, subscriber_id)
        if stored is None:
            return
        checkout = await billing.get_checkout(stored.session_id) if stored.session_id else None
        prices = find_plan_prices(runtime.settings)
        found = await _list_subscriptions(billing, stored, checkout, prices)
        async with runtime.transaction(SYSTEM) as work:
            decision = rules.decide(stored, found, checkout, prices, now=work.now)
            if await _write(work, stored, decision):
                return


async def read_subscription_of(runtime: Runtime, owner_id: UUID) -> bool:
    """Read the subscription of an owner who comes back from the provider; False if it does not answer."""
    found = await find_subscriber(runtime.work(SYSTEM), owner_id)
    if found is None:
        return True
    try:
        async with opened(runtime) as billing:
            await read_anew(runtime, billing, found.id)
    except CheckoutFault:
        return False
    return True


async def clear_user_plan(work: Work, user: User) -> User:
    """Let a user's plan follow the subscription again, or be the free one."""
    await clear_decided_plan(work, user)
    found = await find_subscriber(work, user.id)
    if found is not None:
        await _apply(work, found)
    return await get_user(work, user.id)


async def clear_organization_plan(work: Work, organization: Organization) -> Organization:
    """Let an organization's plan follow the subscription again, or be the free one."""
    await clear_decided_organization_plan(work, organization)
    found = await find_subscriber(work, organization.id)
    if found is not None:
        await _apply(work, found)
    return await get_organization_by_id(work, organization.id)


async def end(runtime: Runtime, billing: Billing, subscriber: Subscriber) -> None:
    """Cancel everything that somebody who is gone could still be charged for, and then forget them."""
    checkout = None
    if subscriber.session_id is not None:
        step = PaymentStep(subscriber.id, "expire-plan", subscriber.attempt)
        checkout = await billing.expire_checkout(subscriber.session_id, step)
    for each in await _list_subscriptions(billing, subscriber, checkout, find_plan_prices(runtime.settings)):
        if not each.status.is_over:
            await billing.cancel_subscription(each.id)
    if subscriber.user_id is None and subscriber.organization_id is None:
        await store.delete(runtime.pool, subscriber.id)
    else:
        await read_anew(runtime, billing, subscriber.id)


async def is_plan_decided(work: Work, owner: PlanOwner) -> bool:
    """Tell whether an administrator of the service has decided the plan."""
    if owner.organization_id is None:
        return await is_user_plan_decided(work.db, owner.user.id)
    return await is_organization_plan_decided(work.db, owner.organization_id)


async def _begin(runtime: Runtime, billing: Billing, owner: PlanOwner, plan: Plan) -> Subscriber:
    """Return a subscriber with an open checkout for this plan, or one for whom a new checkout may be opened."""
    for _ in range(3):
        async with runtime.transaction(SYSTEM) as work:
            if await is_plan_decided(work, owner):
                raise PlanSetByAdministrator
            user_id = None if owner.organization_id else owner.user.id
            stored = await store.lock_of_owner(
                work.db,
                user_id=user_id,
                organization_id=owner.organization_id,
                mode=billing.mode,
                now=work.now,
            )
            if stored.is_subscribed:
                raise AlreadySubscribed
            if _is_reusable(work, stored, plan):
                return stored
            if stored.session_id is None:
                return await _begin_attempt(work, stored, plan)
        # One that can still be paid must not be forgotten: it is closed first, or was paid a moment ago.
        step = PaymentStep(stored.id, "expire-plan", stored.attempt)
        await billing.expire_checkout(stored.session_id, step)
        await read_anew(runtime, billing, stored.id)
    raise BillingUnavailable


def _is_reusable(work: Work, stored: Subscriber, plan: Plan) -> bool:
    if stored.session_plan is not plan or stored.session_expires_at is None:
        return False
    if stored.session_id is None:
        return work.now < stored.session_expires_at - CHECKOUT_LASTS + SAME_CLICK
    return stored.session_url is not None and work.now + WORTH_REUSING < stored.session_expires_at


async def _begin_attempt(work: Work, stored: Subscriber, plan: Plan) -> Subscriber:
    begun = replace(stored, attempt=stored.attempt + 1, session_plan=plan, session_expires_at=work.now + CHECKOUT_LASTS)
    await store.update(work.db, begun, now=work.now)
    return replace(begun, version=begun.version + 1)


async def _forget_customer(runtime: Runtime, begun: Subscriber, plan: Plan) -> Subscriber:
    """Begin anew without a customer who was deleted at the provider."""
    async with runtime.transaction(SYSTEM) as work:
        return await _begin_attempt(work, replace(begun, customer_id=None), plan)


async def _open_checkout(runtime: Runtime, billing: Billing, owner: PlanOwner, begun: Subscriber, price_id: str) -> str:
    assert begun.session_plan is not None and begun.session_expires_at is not None  # noqa: S101, PT018 - just begun
    page = f"{runtime.settings.public_url}{owner.path}"
    wanted = PlanCheckoutWanted(
        subscriber_id=begun.id,
        plan=begun.session_plan,
        price_id=price_id,
        customer_id=begun.customer_id,
        email=owner.user.email,
        success_url=f"{page}/return",
        cancel_url=page,
        expires_at=begun.session_expires_at,
        language=owner.user.locale,
    )
    made = await billing.create_checkout(wanted, PaymentStep(begun.id, "plan", begun.attempt))
    if made.url is None:
        raise BillingUnavailable
    known = replace(begun, session_id=made.id, session_url=made.url, next_read_at=begun.session_expires_at)
    async with runtime.transaction(SYSTEM) as work:
        is_kept = await store.update(work.db, known, now=work.now)
    if not is_kept:
        return await _follow_first(runtime, billing, begun, made)
    return made.url


async def _follow_first(runtime: Runtime, billing: Billing, begun: Subscriber, made: PlanCheckout) -> str:
    """Go to the checkout that the first of two clicks has stored; one that nobody has stored must not be paid."""
    stored = await store.find(runtime.pool, begun.id)
    if stored is not None and stored.session_id == made.id and stored.session_url is not None:
        return stored.session_url
    await billing.expire_checkout(made.id, PaymentStep(begun.id, "expire-plan", begun.attempt))
    raise BillingUnavailable


async def _list_subscriptions(
    billing: Billing, stored: Subscriber, checkout: PlanCheckout | None, prices: PlanPrices
) -> list[Subscription]:
    customers = {stored.customer_id, checkout.customer_id if checkout else None}
    found = [await billing.list_subscriptions(each) for each in customers if each is not None]
    return [each for some in found for each in some if rules.is_ours(stored, each, prices)]


async def _write(work: Work, stored: Subscriber, decision: rules.SubscriptionDecision) -> bool:
    second = decision.second
    is_new = second is not None and second.id != stored.second_id
    decided = replace(decision.subscriber, second_id=second.id if second else stored.second_id)
    if not await store.update(work.db, decided, now=work.now):
        return False
    await _apply(work, decided)
    if second is not None and is_new:
        await _plan_cancelling(work, decided, second)
    return True


async def _apply(work: Work, subscriber: Subscriber) -> None:
    if subscriber.status is None:
        return
    plan, until = rules.find_grant(subscriber)
    if subscriber.organization_id is not None:
        await follow_organization_subscription(work, subscriber.organization_id, plan, until=until)
    elif subscriber.user_id is not None:
        await follow_user_subscription(work, await get_user(work, subscriber.user_id), plan, until=until)


async def _plan_cancelling(work: Work, subscriber: Subscriber, second: Subscription) -> None:
    payload = SecondSubscription(subscription_id=second.id)
    await work.plan(CANCEL_SECOND, second.id, due_at=work.now, payload=payload, tenant_id=subscriber.user_id)
    told = [subscriber.user_id] if subscriber.user_id else []
    if subscriber.organization_id is not None:
        told = list(await list_administrators(work.db, subscriber.organization_id))
    for each in told:
        payload = SecondSubscription(subscription_id=second.id, told_id=each)
        await work.plan(TELL_SECOND, f"{second.id}:{each}", due_at=work.now, payload=payload, tenant_id=each)
