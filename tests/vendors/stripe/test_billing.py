"""The operator's account: checkouts for plans, subscriptions, prices and the portal, beside Stripe's own library."""

import asyncio
from datetime import timedelta

import pytest
import stripe
from msgspec.structs import replace

from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import Money
from openslot.domains.payments.models import CheckoutStatus, PaymentStep
from openslot.domains.payments.ports import AnswerUnreadable, CheckoutRefused, RightMissing
from openslot.domains.plans.models import BillingPeriod, PlanCheckoutWanted, Price, SubscriptionStatus
from openslot.domains.plans.ports import Billing
from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.billing import StripeBilling
from openslot.vendors.stripe.billing_wire import WireItems, WireSubscription, to_subscription
from tests.support.clocks import MONDAY, MovingClock
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind, parameters
from tests.support.fake_stripe import billing as plans
from tests.vendors.stripe.support import PAYMENT as SUBSCRIBER

OPEN = PaymentStep(SUBSCRIBER, "plan")
EXPIRE = PaymentStep(SUBSCRIBER, "expire-plan")
PORTAL = PaymentStep(SUBSCRIBER, "portal")
WANTED = PlanCheckoutWanted(
    subscriber_id=SUBSCRIBER,
    plan=Plan.PRO,
    price_id="price_pro",
    customer_id=None,
    email="mara@lindqvist.example",
    success_url="https://openslot.example/settings/plan/return",
    cancel_url="https://openslot.example/settings/plan",
    expires_at=MONDAY + timedelta(hours=1),
    language="de",
)


@pytest.fixture(autouse=True)
def prices(books: Books) -> None:
    plans.add_price(books, "price_pro", 1200)
    plans.add_price(books, "price_business", 3000, "jpy")


async def test_prices_are_read_with_their_period(billing: Billing) -> None:
    assert await billing.get_price("price_pro") == Price(
        id="price_pro", amount=Money(1200, "EUR"), period=BillingPeriod.MONTH
    )
    assert (await billing.get_price("price_business")).amount == Money(3000, "JPY")
    with pytest.raises(CheckoutRefused) as refused:
        await billing.get_price("price_none/../../x")
    assert refused.value.status == 404


async def test_a_price_without_a_fixed_amount_is_not_readable(billing: Billing, books: Books) -> None:
    books.objects["price_pro"]["unit_amount"] = None
    with pytest.raises(AnswerUnreadable):
        await billing.get_price("price_pro")


async def test_a_checkout_begins_a_subscription_that_names_who_it_is_for(billing: Billing, books: Books) -> None:
    opened = await billing.create_checkout(WANTED, OPEN)
    assert (opened.status, opened.subscription_id) == (CheckoutStatus.OPEN, None)
    begun = plans.subscribe(books, opened.id)
    done = await billing.get_checkout(opened.id)
    assert (done.status, done.url, done.subscription_id) == (CheckoutStatus.COMPLETE, None, begun["id"])
    assert done.customer_id is not None
    (found,) = await billing.list_subscriptions(done.customer_id)
    assert found.status is SubscriptionStatus.ACTIVE
    assert (found.price_id, found.bought_plan, found.ends_at) == ("price_pro", "PRO", None)
    assert (found.period_start, found.period_end) == (MONDAY, MONDAY + timedelta(days=30))
    assert begun["metadata"] == {"openslot_subscriber": str(SUBSCRIBER), "openslot_plan": "PRO"}


async def test_the_request_is_one_that_the_library_writes(billing: Billing, fake: FakeStripe, books: Books) -> None:
    library = stripe.StripeClient(books.key, base_addresses={"api": fake.url}, max_network_retries=0)
    await billing.create_checkout(WANTED, OPEN)
    sent: stripe.params.checkout.SessionCreateParams = {
        "mode": "subscription",
        "line_items": [{"quantity": 1, "price": "price_pro"}],
        "customer_email": WANTED.email,
        "success_url": WANTED.success_url,
        "cancel_url": WANTED.cancel_url,
        "client_reference_id": str(SUBSCRIBER),
        "subscription_data": {"metadata": {"openslot_subscriber": str(SUBSCRIBER), "openslot_plan": "PRO"}},
        "expires_at": int(WANTED.expires_at.timestamp()),
        "locale": "de",
    }
    await asyncio.to_thread(library.v1.checkout.sessions.create, sent)
    ours, theirs = (parameters.read_pairs(each.pairs) for each in fake.asked)
    assert ours == theirs
    assert fake.asked[0].headers["idempotency-key"] == OPEN.key


async def test_a_repeated_step_opens_one_checkout(billing: Billing, fake: FakeStripe, books: Books) -> None:
    fake.faults = [Fault(FaultKind.LOSE_ANSWER, "checkout/sessions")]
    first = await billing.create_checkout(WANTED, OPEN)
    assert await billing.create_checkout(WANTED, OPEN) == first
    assert len(books.list("checkout.session")) == 1


async def test_a_known_customer_is_used_again(billing: Billing, books: Books) -> None:
    customer = plans.create_customer(books, {"email": "mara@lindqvist.example"})["id"]
    opened = await billing.create_checkout(replace(WANTED, customer_id=customer), OPEN)
    assert plans.subscribe(books, opened.id)["customer"] == customer


async def test_a_checkout_that_was_finished_is_not_expired(billing: Billing, books: Books) -> None:
    opened = await billing.create_checkout(WANTED, OPEN)
    assert (await billing.expire_checkout(opened.id, EXPIRE)).status is CheckoutStatus.EXPIRED
    other = await billing.create_checkout(WANTED, PaymentStep(SUBSCRIBER, "plan", 2))
    begun = plans.subscribe(books, other.id)
    late = await billing.expire_checkout(other.id, PaymentStep(SUBSCRIBER, "expire-plan", 2))
    assert (late.status, late.subscription_id) == (CheckoutStatus.COMPLETE, begun["id"])


async def test_cancelled_subscriptions_are_listed_and_cancelled_once(
    billing: Billing, fake: FakeStripe, books: Books
) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    await billing.cancel_subscription(begun["id"], is_credited=True)
    assert fake.asked[-1].path.endswith("?prorate=true&invoice_now=true")
    await billing.cancel_subscription(begun["id"])
    (found,) = await billing.list_subscriptions(begun["customer"])
    assert found.status is SubscriptionStatus.CANCELLED


async def test_the_portal_belongs_to_a_customer(billing: Billing, books: Books) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    url = await billing.open_portal(begun["customer"], return_url="https://openslot.example/", step=PORTAL)
    assert url.startswith(books.site)
    with pytest.raises(CheckoutRefused):
        await billing.open_portal("cus_none", return_url="https://openslot.example/", step=PaymentStep(SUBSCRIBER, "x"))


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        ({}, None),
        ({"cancel_at_period_end": True}, 30),
        ({"cancel_at": int(MONDAY.timestamp()) + 10 * 86400}, 10),
    ],
)
async def test_a_cancellation_for_later_is_read_in_both_spellings(
    billing: Billing, books: Books, changes: dict[str, object], days: int | None
) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    begun.update(changes)
    (found,) = await billing.list_subscriptions(begun["customer"])
    assert found.ends_at == (MONDAY + timedelta(days=days) if days else None)


async def test_a_status_that_we_do_not_know_is_kept_apart(billing: Billing, books: Books) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    begun["status"] = "hibernating"
    (found,) = await billing.list_subscriptions(begun["customer"])
    assert found.status is SubscriptionStatus.OTHER


def test_a_subscription_without_items_is_not_readable() -> None:
    empty = WireSubscription(
        id="sub_1", livemode=False, customer="cus_1", status="active", created=1, items=WireItems([])
    )
    with pytest.raises(AnswerUnreadable):
        to_subscription(empty)


async def test_objects_of_the_other_mode_are_refused(billing: Billing, books: Books) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    begun["livemode"] = True
    with pytest.raises(AnswerUnreadable):
        await billing.list_subscriptions(begun["customer"])


async def test_events_name_the_subscription_and_who_it_is_for(
    billing: Billing, books: Books, clock: MovingClock
) -> None:
    begun = plans.subscribe(books, (await billing.create_checkout(WANTED, OPEN)).id)
    clock.pass_time(minutes=1)
    plans.fail_renewal(books, begun["id"])
    found = await billing.list_notices(since=MONDAY)
    assert [each.type for each in found] == [
        "customer.subscription.created",
        "invoice.paid",
        "checkout.session.completed",
        "invoice.payment_failed",
        "customer.subscription.updated",
    ]
    assert {each.subscription_id for each in found} == {begun["id"]}
    assert {each.reference for each in found if not each.type.startswith("invoice")} == {str(SUBSCRIBER)}
    assert len(await billing.list_notices(since=MONDAY + timedelta(seconds=30))) == 2


async def test_a_key_without_the_right_is_told_apart(fake: FakeStripe, books: Books, outbound: Outbound) -> None:
    opened = StripeBilling(outbound, url=fake.url, key=fake.add_key(books, "plan_read"))
    with pytest.raises(RightMissing) as missing:
        await opened.create_checkout(WANTED, OPEN)
    await opened.close()
    assert missing.value.right == "checkout_session_write"
