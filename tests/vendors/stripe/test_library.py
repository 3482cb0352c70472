"""One wire format: Stripe's own library, pointed at the fake, does and reads what our adapter does and reads."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
import stripe
from stripe import StripeClient

from openslot.domains.payments.models import Mode, PaymentStep
from openslot.domains.payments.ports import Checkout, CheckoutRefused
from openslot.vendors.stripe.client import API_VERSION
from openslot.vendors.stripe.notices import PAYMENT_EVENTS, read_notice, verify
from tests.support.clocks import MONDAY
from tests.support.fake_stripe import Books, FakeStripe, Request, billing, parameters
from tests.vendors.stripe.support import ENDPOINT, PAYMENT, REFUND, WANTED, back, begin

R = TypeVar("R")


@pytest.fixture
def library(fake: FakeStripe, books: Books) -> StripeClient:
    return StripeClient(books.key, base_addresses={"api": fake.url}, max_network_retries=0)


async def ask(what: Callable[[], R]) -> R:
    """Call the library, which blocks, while the fake answers."""
    return await asyncio.to_thread(what)


def nest(request: Request) -> dict[str, Any]:
    return parameters.read_pairs(request.pairs)


def test_the_version_is_the_one_of_the_library() -> None:
    assert stripe.api_version == API_VERSION


async def test_a_session_is_made_by_the_same_request(
    fake: FakeStripe, checkout: Checkout, library: StripeClient
) -> None:
    ours = await begin(checkout)
    theirs = await ask(
        lambda: library.v1.checkout.sessions.create(
            {
                "mode": "payment",
                "line_items": [
                    {
                        "quantity": 1,
                        "price_data": {
                            "currency": "eur",
                            "unit_amount": 4900,
                            "product_data": {"name": WANTED.title},
                        },
                    }
                ],
                "success_url": WANTED.success_url,
                "cancel_url": WANTED.cancel_url,
                "customer_email": WANTED.email,
                "client_reference_id": str(PAYMENT),
                "metadata": {"openslot_payment": str(PAYMENT)},
                "payment_intent_data": {
                    "metadata": {"openslot_payment": str(PAYMENT)},
                    "description": WANTED.title,
                },
                "allowed_payment_method_types": ["card"],
                "submit_type": "book",
                "expires_at": int(WANTED.expires_at.timestamp()),
                "locale": "de",
            },
            {"idempotency_key": PaymentStep(PAYMENT, "session").key},
        )
    )

    mine, other = fake.asked
    assert (mine.method, mine.path, nest(mine)) == (other.method, other.path, nest(other))
    for name in ("stripe-version", "idempotency-key", "authorization", "content-type"):
        assert mine.headers[name] == other.headers[name]
    # The same key and the same parameters: it is the same session.
    assert theirs.id == ours.id


async def test_a_paid_session_is_read_alike(checkout: Checkout, books: Books, library: StripeClient) -> None:
    made = await begin(checkout)
    books.pay(made.id)
    books.refunds_begin = "pending"
    refund = await checkout.create_refund(back(await checkout.get_session(made.id), 100), REFUND)
    ours = await checkout.get_session(made.id)
    assert ours.intent_id is not None
    books.dispute(ours.intent_id)
    ours = await checkout.get_session(made.id)
    expanded = ["payment_intent.latest_charge"]
    theirs = await ask(lambda: library.v1.checkout.sessions.retrieve(made.id, {"expand": expanded}))
    refunds = await ask(lambda: library.v1.refunds.list({"payment_intent": ours.intent_id or ""}))
    disputes = await ask(lambda: library.v1.disputes.list({"payment_intent": ours.intent_id or ""}))

    intent = theirs.payment_intent
    assert isinstance(intent, stripe.PaymentIntent)
    assert isinstance(intent.latest_charge, stripe.Charge)
    assert (ours.id, ours.status, ours.url) == (theirs.id, theirs.status, theirs.url)
    assert (ours.is_paid, ours.reference) == (theirs.payment_status == "paid", theirs.client_reference_id)
    assert (ours.amount.amount, ours.amount.currency) == (theirs.amount_total, (theirs.currency or "").upper())
    assert ours.expires_at == datetime.fromtimestamp(theirs.expires_at, UTC)
    assert (ours.intent_id, ours.receipt_url) == (intent.id, intent.latest_charge.receipt_url)
    assert [(each.id, each.status, each.amount.amount) for each in ours.refunds] == [
        (each.id, each.status, each.amount) for each in refunds.data
    ]
    assert ours.refunds == (refund,)
    assert [(each.id, each.reason) for each in ours.disputes] == [(each.id, each.reason) for each in disputes.data]


async def test_events_are_listed_alike(checkout: Checkout, books: Books, library: StripeClient) -> None:
    for number in range(7):
        session = await checkout.create_session(WANTED, PaymentStep(PAYMENT, "session", number))
        books.pay(session.id)
    ours = await checkout.list_notices(since=MONDAY)
    listed = await ask(
        lambda: list(library.v1.events.list({"types": list(PAYMENT_EVENTS), "limit": 3}).auto_paging_iter())
    )

    assert [each.id for each in ours] == [each.id for each in reversed(listed)]
    assert [each.session_id for each in ours] == [each.data.object["id"] for each in reversed(listed)]


async def test_notices_are_accepted_by_the_library_and_by_us(
    fake: FakeStripe, books: Books, checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = await checkout.register_endpoint("https://openslot.example/api/notices/stripe/1", ENDPOINT)
    session = await begin(checkout)
    books.pay(session.id)
    (delivery,) = fake.notices.waiting
    body, header = delivery.body, delivery.headers["Stripe-Signature"]
    monkeypatch.setattr(stripe._webhook, "time", SimpleNamespace(time=lambda: float(books.now)))
    theirs = stripe.Webhook.construct_event(body, header, endpoint.secret)
    verify(body, header, secrets=(endpoint.secret,), now=books.clock())
    ours = read_notice(body, mode=Mode.TEST)

    assert (ours.id, ours.type, ours.object_id) == (theirs.id, theirs.type, theirs.data.object["id"])
    assert ours.session_id == session.id
    assert [ours] == await checkout.list_notices(since=MONDAY)


async def test_refusals_are_read_alike(checkout: Checkout, library: StripeClient) -> None:
    with pytest.raises(CheckoutRefused) as ours:
        await checkout.get_session("cs_test_nothing")
    with pytest.raises(stripe.InvalidRequestError) as theirs:
        await ask(lambda: library.v1.checkout.sessions.retrieve("cs_test_nothing"))

    assert (ours.value.status, ours.value.code, ours.value.field) == (
        theirs.value.http_status,
        theirs.value.code,
        theirs.value.param,
    )


async def test_the_library_meets_the_same_classes_of_faults(
    fake: FakeStripe, books: Books, library: StripeClient
) -> None:
    stranger = StripeClient("sk_test_unknown123", base_addresses={"api": fake.url}, max_network_retries=0)
    small = StripeClient(fake.add_key(books, "event_read"), base_addresses={"api": fake.url}, max_network_retries=0)
    key: Any = {"idempotency_key": "k"}
    unknown: Any = {"booking": "1"}
    await ask(lambda: library.v1.customers.create({"email": "a@example.com"}, key))

    with pytest.raises(stripe.AuthenticationError):
        await ask(stranger.v1.events.list)
    with pytest.raises(stripe.PermissionError, match="rak_dispute_read"):
        await ask(small.v1.disputes.list)
    with pytest.raises(stripe.IdempotencyError):
        await ask(lambda: library.v1.customers.create({"email": "b@example.com"}, key))
    with pytest.raises(stripe.InvalidRequestError, match="unknown parameter"):
        await ask(lambda: library.v1.refunds.create(unknown))


async def test_a_plan_is_read_changed_and_ended_by_the_library(books: Books, library: StripeClient) -> None:
    billing.add_price(books, "price_pro", 1200)
    billing.add_price(books, "price_business", 3000)
    customer = await ask(lambda: library.v1.customers.create({"email": "mara@lindqvist.example"}))
    session = await ask(
        lambda: library.v1.checkout.sessions.create(
            {
                "mode": "subscription",
                "customer": customer.id,
                "line_items": [{"price": "price_pro", "quantity": 1}],
                "success_url": "https://openslot.example/",
                "subscription_data": {"metadata": {"openslot_user": "1"}},
            }
        )
    )
    begun = billing.subscribe(books, session.id)["id"]
    portal = await ask(lambda: library.v1.billing_portal.sessions.create({"customer": customer.id}))
    read = await ask(lambda: library.v1.subscriptions.retrieve(begun))
    item = read["items"].data[0]
    await ask(lambda: library.v1.subscriptions.update(begun, {"items": [{"id": item.id, "price": "price_business"}]}))
    (listed,) = (await ask(lambda: library.v1.subscriptions.list({"customer": customer.id}))).data
    ended = await ask(lambda: library.v1.subscriptions.cancel(begun))

    assert (read.status, read.metadata["openslot_user"]) == ("active", "1")
    assert item.current_period_end > books.now
    assert listed["items"].data[0].price.id == "price_business"
    assert portal.url.startswith(f"{books.site}/p/session/")
    assert ended.status == "canceled"


async def test_every_object_has_the_fields_of_the_librarys_class(checkout: Checkout, books: Books) -> None:
    made = await begin(checkout)
    books.pay(made.id)
    paid = await checkout.get_session(made.id)
    assert paid.intent_id is not None
    books.refund(paid.intent_id, 100)
    books.dispute(paid.intent_id)
    await checkout.register_endpoint("https://openslot.example/1", ENDPOINT)
    classes: dict[str, Any] = {
        "checkout.session": stripe.checkout.Session,
        "payment_intent": stripe.PaymentIntent,
        "charge": stripe.Charge,
        "refund": stripe.Refund,
        "dispute": stripe.Dispute,
        "event": stripe.Event,
        "webhook_endpoint": stripe.WebhookEndpoint,
    }

    assert {each["object"] for each in books.objects.values()} == classes.keys()
    for each in books.objects.values():
        assert each.keys() <= classes[each["object"]].__annotations__.keys()
        read = stripe.StripeObject.construct_from(json.loads(json.dumps(each)), "key")
        assert read.to_dict() == each
