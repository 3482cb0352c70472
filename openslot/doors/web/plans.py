"""Pages: the plans that a user or an organization subscribes to, where the operator sells them."""

from typing import Annotated, Any

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import list_plan_grants
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.plans import Plan, running
from openslot.domains.payments.models import Mode
from openslot.domains.plans.models import BillingPeriod, StoredPrice, Subscriber, SubscriptionStatus
from openslot.domains.plans.operations import (
    PlanOwner,
    find_plan_mode,
    find_plan_prices,
    find_subscriber,
    is_plan_decided,
    list_plan_prices,
    open_plan_portal,
    read_subscription_of,
    subscribe_to_plan,
)
from openslot.domains.plans.rules import PAID_STATUSES
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared import words
from openslot.doors.web.shared.organization import get_administered_membership, organization_page
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.money import Amount
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

ACCOUNT, ORGANIZATION = "/account/plan", "/organization/plan"
GIVES = {
    Plan.PRO: Text("The REST API, with keys of your own"),
    Plan.BUSINESS: Text("Everything in Pro, organizations with members, and provisioning by SCIM"),
}
PERIODS = {
    BillingPeriod.DAY: Text("%(price)s per day"),
    BillingPeriod.WEEK: Text("%(price)s per week"),
    BillingPeriod.MONTH: Text("%(price)s per month"),
    BillingPeriod.YEAR: Text("%(price)s per year"),
}
NOTICES = {
    "checkout": Text("Your checkout is open. If your browser does not go there, continue below."),
    "active": Text("Your subscription is active."),
    "later": Text("The payment provider does not answer right now. Your plan changes soon after your payment."),
}


class SubscribeForm(Struct, frozen=True, kw_only=True):
    plan: Annotated[Plan, WhenEmpty(Text("Choose a plan"))]


class OfferedPlan(Struct, frozen=True, kw_only=True):
    plan: Plan
    name: Text
    gives: Text
    price: Text | None


@get("/account/plan")
async def show_plan(request: Request, work: Work, user: User, form: Form[Any] = Form()) -> Response:
    grants = await list_plan_grants(work, user)
    shown = await _read(request, work, PlanOwner(user=user))
    counts = words.plan(grants, zone=user.zone, now=work.now)
    return page("plans/own.html", user, here="/account", notices=NOTICES, form=form, counts=counts, **shown)


@post("/account/plan/checkout", transaction="none", shows=show_plan)
async def subscribe(work: Work, user: User, form: Form[SubscribeForm]) -> Response:
    """Open a checkout; the page shows the way there, because a form must not lead to another site."""
    await subscribe_to_plan(work.runtime, PlanOwner(user=user), form.get().plan)
    return redirect(f"{ACCOUNT}?done=checkout")


@get("/account/plan/billing")
async def open_billing(work: Work, user: User) -> Response:
    return redirect(await open_plan_portal(work.runtime, PlanOwner(user=user)))


@get("/account/plan/return")
async def return_to_plan(work: Work, user: User) -> Response:
    """Read the subscription of somebody who comes back, so that nobody waits for a notice."""
    return await _return(work, PlanOwner(user=user))


@get("/organization/plan")
async def show_organization_plan(request: Exchange, work: Work, user: User, form: Form[Any] = Form()) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    shown = await _read(request, work, PlanOwner(user=user, organization_id=own.organization_id))
    counts = words.PLANS[running(organization.plan, organization.plan_until, now=work.now)]
    return organization_page(
        "plans/organization.html",
        request,
        own,
        here="/organization/settings",
        notices=NOTICES,
        form=form,
        counts=counts,
        **shown,
    )


@post("/organization/plan/checkout", transaction="none", shows=show_organization_plan)
async def subscribe_organization(request: Exchange, work: Work, user: User, form: Form[SubscribeForm]) -> Response:
    await subscribe_to_plan(work.runtime, _administered(request, user), form.get().plan)
    return redirect(f"{ORGANIZATION}?done=checkout")


@get("/organization/plan/billing")
async def open_organization_billing(request: Exchange, work: Work, user: User) -> Response:
    return redirect(await open_plan_portal(work.runtime, _administered(request, user)))


@get("/organization/plan/return")
async def return_to_organization_plan(request: Exchange, work: Work, user: User) -> Response:
    return await _return(work, _administered(request, user))


def _administered(request: Exchange, user: User) -> PlanOwner:
    return PlanOwner(user=user, organization_id=get_administered_membership(request).organization_id)


async def _return(work: Work, owner: PlanOwner) -> Response:
    if not await read_subscription_of(work.runtime, owner.id):
        return redirect(f"{owner.path}?done=later")
    found = await find_subscriber(work, owner.id)
    is_paid = found is not None and found.status in PAID_STATUSES
    return redirect(f"{owner.path}?done=active" if is_paid else owner.path)


async def _read(request: Request, work: Work, owner: PlanOwner) -> dict[str, Any]:
    """Read what the pages of users and organizations have in common."""
    mode = find_plan_mode(work.runtime.settings)
    if mode is None:
        raise NotFound
    found = await find_subscriber(work, owner.id)
    is_decided = await is_plan_decided(work, owner)
    is_open = _has_open_checkout(work, found)
    return {
        "path": owner.path,
        "is_test": mode is Mode.TEST,
        "is_decided": is_decided,
        "subscriber": found,
        "state": describe(found, zone=owner.user.zone) if found else None,
        "has_customer": found is not None and found.customer_id is not None,
        "offers": [] if is_decided or (found and found.is_subscribed) else await _list_offers(work),
        "checkout": found if is_open else None,
        "leads_on": is_open and request.query.get("done") == "checkout",
        "plans": words.PLANS,
    }


def _has_open_checkout(work: Work, found: Subscriber | None) -> bool:
    if found is None or found.session_url is None or found.session_expires_at is None:
        return False
    return found.session_expires_at > work.now


def describe(subscriber: Subscriber, *, zone: str) -> tuple[Text, str] | None:
    """Say how a subscription stands, and how much that matters."""
    if not subscriber.is_subscribed:
        return None
    if subscriber.status is SubscriptionStatus.PAST_DUE and subscriber.grace_until is not None:
        until = words.day(subscriber.grace_until, zone)
        return Text("The last payment failed. The plan lasts until %(day)s unless it is paid.", day=until), "warn"
    if subscriber.status not in PAID_STATUSES:
        return Text("The subscription is not paid, so its plan is off. Pay under “Manage billing”."), "bad"
    if subscriber.ends_at is not None:
        return Text("The subscription ends on %(day)s.", day=words.day(subscriber.ends_at, zone)), "warn"
    if subscriber.paid_until is None:
        return None
    return Text("The subscription renews on %(day)s.", day=words.day(subscriber.paid_until, zone)), ""


async def _list_offers(work: Work) -> list[OfferedPlan]:
    prices = {id_: show_price(each) for id_, each in (await list_plan_prices(work)).items()}
    return [
        OfferedPlan(
            plan=plan,
            name=words.PLANS[plan],
            gives=GIVES[plan],
            price=prices.get(price_id),
        )
        for plan, price_id in find_plan_prices(work.runtime.settings).by_plan.items()
    ]


def show_price(price: StoredPrice) -> Text:
    amount = Amount(price.amount, price.currency)
    if price.period_count != 1:
        return Text("%(price)s per billing period", price=amount)
    return PERIODS[price.period].fill(price=amount)
