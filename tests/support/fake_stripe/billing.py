"""Subscriptions: how they begin at the checkout, renew, lapse and end."""

from typing import Any

import stripe

from tests.support.fake_stripe.books import DAY, Books, Object
from tests.support.fake_stripe.errors import StripeRefusal
from tests.support.fake_stripe.objects import make, make_list

MONTH = 30 * DAY


def add_price(books: Books, price_id: str, amount: int, currency: str = "eur") -> Object:
    """Offer a plan, as an operator does in Stripe's own pages."""
    price = make(
        stripe.Price,
        id=price_id,
        active=True,
        billing_scheme="per_unit",
        created=books.now,
        currency=currency,
        livemode=books.livemode,
        product=books.new_id("prod"),
        recurring={"interval": "month", "interval_count": 1, "usage_type": "licensed"},
        type="recurring",
        unit_amount=amount,
    )
    books.objects[price_id] = price
    return price


def create_customer(books: Books, sent: Object) -> Object:
    return books.add(
        stripe.Customer,
        "cus",
        email=sent.get("email"),
        name=sent.get("name"),
        metadata=sent.get("metadata", {}),
    )


def delete_customer(books: Books, customer_id: str) -> None:
    """Delete a customer in Stripe's own pages, which ends all subscriptions."""
    for subscription in books.list("subscription"):
        if subscription["customer"] == customer_id and subscription["status"] != "canceled":
            cancel(books, subscription["id"])
    del books.objects[customer_id]


def subscribe(books: Books, session_id: str) -> Object:
    """Let somebody finish a checkout of the mode `subscription`."""
    session = books.get_open(session_id)
    sent = books.sent[session_id]
    if session["customer"] is None:
        session["customer"] = create_customer(books, {"email": session["customer_email"]})["id"]
    item = _make_item(books, sent["line_items"][0]["price"])
    subscription = books.add(
        stripe.Subscription,
        "sub",
        billing_mode={"type": "flexible", "flexible": None},
        collection_method="charge_automatically",
        currency=session["currency"],
        customer=session["customer"],
        invoice_settings={"account_tax_ids": None, "issuer": {"type": "self"}},
        items=make_list("/v1/subscription_items", [item]),
        metadata=sent.get("subscription_data", {}).get("metadata", {}),
        start_date=books.now,
        status="active",
    )
    item["subscription"] = subscription["id"]
    books.emit("customer.subscription.created", subscription)
    _bill(books, subscription, "invoice.paid", "paid")
    books.change(session, status="complete", payment_status="paid", url=None, subscription=subscription["id"])
    books.emit("checkout.session.completed", session)
    return subscription


def renew(books: Books, subscription_id: str) -> None:
    """Let a period be paid, at its end or after it failed."""
    subscription = books.get("subscription", subscription_id)
    item = subscription["items"]["data"][0]
    item.update(current_period_start=books.now, current_period_end=books.now + MONTH)
    books.change(subscription, status="active")
    _bill(books, subscription, "invoice.paid", "paid")
    books.emit("customer.subscription.updated", subscription)


def fail_renewal(books: Books, subscription_id: str, *, status: str = "past_due") -> None:
    """Let a card fail; after its last try Stripe makes the subscription `unpaid` or ends it, as the account says."""
    subscription = books.get("subscription", subscription_id)
    _bill(books, subscription, "invoice.payment_failed", "open")
    books.change(subscription, "customer.subscription.updated", status=status)


def update(books: Books, subscription_id: str, sent: Object) -> Object:
    subscription = books.get("subscription", subscription_id, "subscription")
    if subscription["status"] == "canceled":
        raise StripeRefusal(400, "A canceled subscription can only update its cancellation_details and metadata.")
    changes: dict[str, Any] = {name: sent[name] for name in ("cancel_at_period_end", "metadata") if name in sent}
    for item in sent.get("items", ()):
        kept = subscription["items"]["data"][0]
        if item.get("id") != kept["id"]:
            raise StripeRefusal(400, f"No such subscription item: {item.get('id')}", param="items[0][id]")
        kept["price"] = books.get("price", item["price"], "items[0][price]")
    books.change(subscription, "customer.subscription.updated", **changes)
    return subscription


def cancel(books: Books, subscription_id: str) -> Object:
    """End a subscription at once."""
    subscription = books.get("subscription", subscription_id, "subscription")
    if subscription["status"] == "canceled":
        raise StripeRefusal(404, f"No such subscription: '{subscription_id}'", code="resource_missing")
    books.change(subscription, status="canceled", canceled_at=books.now, ended_at=books.now)
    books.emit("customer.subscription.deleted", subscription)
    return subscription


def open_portal(books: Books, sent: Object) -> Object:
    if "customer" not in sent:
        raise StripeRefusal(400, "Missing required param: customer.", code="parameter_missing", is_kept=False)
    customer = books.get("customer", sent["customer"], "customer")
    portal = books.add(
        stripe.billing_portal.Session,
        "bps",
        configuration="bpc_1",
        customer=customer["id"],
        return_url=sent.get("return_url"),
    )
    portal["url"] = f"{books.site}/p/session/{portal['id']}"
    return portal


def _make_item(books: Books, price_id: str) -> Object:
    price = books.get("price", price_id)
    return make(
        stripe.SubscriptionItem,
        id=books.new_id("si"),
        created=books.now,
        current_period_start=books.now,
        current_period_end=books.now + MONTH,
        plan={"object": "plan", "id": price_id, "amount": price["unit_amount"], "currency": price["currency"]},
        price=price,
        quantity=1,
    )


def _bill(books: Books, subscription: Object, event: str, status: str) -> None:
    amount = subscription["items"]["data"][0]["price"]["unit_amount"]
    details = {"subscription": subscription["id"], "metadata": subscription["metadata"]}
    parent = {"type": "subscription_details", "subscription_details": details, "quote_details": None}
    invoice = books.add(
        stripe.Invoice,
        "in",
        amount_due=amount,
        amount_paid=amount if status == "paid" else 0,
        collection_method="charge_automatically",
        currency=subscription["currency"],
        customer=subscription["customer"],
        issuer={"type": "self"},
        parent=parent,
        status=status,
        total=amount,
    )
    subscription["latest_invoice"] = invoice["id"]
    books.emit(event, invoice)
