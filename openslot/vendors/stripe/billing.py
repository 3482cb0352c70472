"""The operator's own Stripe account, where users and organizations subscribe to plans."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TypeVar

from openslot.domains.payments.models import Mode, PaymentNotice, PaymentStep
from openslot.domains.payments.ports import AnswerUnreadable, CheckoutRefused
from openslot.domains.plans.models import PlanCheckout, PlanCheckoutWanted, Price, Subscription
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.billing_wire import (
    BOUGHT_PLAN,
    WireBillingObject,
    WirePlanCheckout,
    WirePortal,
    WirePrice,
    WireSubscription,
    to_checkout,
    to_price,
    to_subscription,
)
from openslot.vendors.stripe.client import Sleep, StripeClient
from openslot.vendors.stripe.expiring import expire
from openslot.vendors.stripe.forms import Parameters, segment
from openslot.vendors.stripe.notices import PLAN_EVENTS, list_notices
from openslot.vendors.stripe.wire import PAGE, SUBSCRIBER, WireList, find_language

W = TypeVar("W", bound=WireBillingObject)


class StripeBilling:
    """Implements the port `Billing` with one key."""

    def __init__(self, outbound: Outbound, *, url: str, key: str, sleep: Sleep = asyncio.sleep) -> None:
        self._client = StripeClient(outbound, url=url, key=key, sleep=sleep)

    @property
    def mode(self) -> Mode:
        return self._client.mode

    async def get_price(self, price_id: str) -> Price:
        return to_price(await self._client.get(f"prices/{segment(price_id)}", WirePrice))

    async def create_checkout(self, wanted: PlanCheckoutWanted, step: PaymentStep) -> PlanCheckout:
        metadata = {SUBSCRIBER: str(wanted.subscriber_id), BOUGHT_PLAN: wanted.plan}
        payer: Parameters = {"customer": wanted.customer_id} if wanted.customer_id else {"customer_email": wanted.email}
        parameters: Parameters = {
            "mode": "subscription",
            "line_items": [{"quantity": 1, "price": wanted.price_id}],
            **payer,
            "success_url": wanted.success_url,
            "cancel_url": wanted.cancel_url,
            "client_reference_id": str(wanted.subscriber_id),
            # Events of the subscription carry its own metadata, not the session's.
            "subscription_data": {"metadata": metadata},
            "expires_at": int(wanted.expires_at.timestamp()),
            "locale": find_language(wanted.language),
        }
        made = await self._client.post("checkout/sessions", WirePlanCheckout, parameters, key=step.key)
        return to_checkout(self._check(made))

    async def get_checkout(self, session_id: str) -> PlanCheckout:
        found = await self._client.get(f"checkout/sessions/{segment(session_id)}", WirePlanCheckout)
        return to_checkout(self._check(found))

    async def expire_checkout(self, session_id: str, step: PaymentStep) -> PlanCheckout:
        def convert(found: WirePlanCheckout) -> PlanCheckout:
            return to_checkout(self._check(found))

        return await expire(
            self._client, session_id, step, wire=WirePlanCheckout, convert=convert, read=self.get_checkout
        )

    async def list_subscriptions(self, customer_id: str) -> list[Subscription]:
        query: Parameters = {"customer": customer_id, "status": "all", "limit": PAGE}
        try:
            found = await self._client.get("subscriptions", WireList[WireSubscription], query)
        except CheckoutRefused as refused:
            # A customer who was deleted has none.
            if refused.code != "resource_missing":
                raise
            return []
        return [to_subscription(self._check(each)) for each in reversed(found.data)]

    async def cancel_subscription(self, subscription_id: str, *, is_credited: bool = False) -> None:
        query = "?prorate=true&invoice_now=true" if is_credited else ""
        try:
            await self._client.delete(f"subscriptions/{segment(subscription_id)}{query}")
        except CheckoutRefused as refused:
            if refused.status != 404:
                raise

    async def open_portal(self, customer_id: str, *, return_url: str, step: PaymentStep) -> str:
        parameters: Parameters = {"customer": customer_id, "return_url": return_url}
        return (await self._client.post("billing_portal/sessions", WirePortal, parameters, key=step.key)).url

    async def list_notices(self, *, since: datetime) -> list[PaymentNotice]:
        return await list_notices(self._client, PLAN_EVENTS, since=since)

    async def close(self) -> None:
        await self._client.close()

    def _check(self, found: W) -> W:
        if found.mode is not self.mode:
            raise AnswerUnreadable("Stripe answered with an object of the other mode")
        return found


class StripeBillings:
    """Implements the port `Billings`: opens the operator's account, where the settings have a key."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, outbound: Outbound) -> StripeBilling | None:
        key = self._settings.stripe_key
        return StripeBilling(outbound, url=self._settings.stripe_url, key=key) if key else None


@asynccontextmanager
async def open_billings(settings: Settings) -> AsyncIterator[StripeBillings]:
    yield StripeBillings(settings)
