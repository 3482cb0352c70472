"""The checkout of one Stripe account."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import uuid4

from openslot.domains.event_types.models import Money
from openslot.domains.payments.models import (
    CheckoutSession,
    KeyCheck,
    KeyRight,
    Mode,
    NoticeEndpoint,
    PaymentNotice,
    PaymentStep,
    Refund,
    RefundWanted,
    SessionWanted,
)
from openslot.domains.payments.ports import AnswerUnreadable, CheckoutRefused, RightMissing
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.amounts import AmountNotPossible, to_stripe
from openslot.vendors.stripe.client import API_VERSION, Sleep, StripeClient
from openslot.vendors.stripe.expiring import expire
from openslot.vendors.stripe.forms import Parameters, segment
from openslot.vendors.stripe.notices import PAYMENT_EVENTS, list_notices
from openslot.vendors.stripe.wire import (
    PAGE,
    PAYMENT,
    STEP,
    WireAccount,
    WireDispute,
    WireEndpoint,
    WireList,
    WireRefund,
    WireSession,
    find_language,
    to_refund,
    to_session,
)

LONGEST_TITLE = 250
# An id that nothing has: whether it is missing or forbidden tells what the key may do, and nothing is changed.
NOBODY = "openslot_check"
EXPANDED = ("payment_intent.latest_charge",)


class StripeCheckout:
    """Implements the port `Checkout` with one key."""

    def __init__(self, outbound: Outbound, *, url: str, key: str, sleep: Sleep = asyncio.sleep) -> None:
        self._client = StripeClient(outbound, url=url, key=key, sleep=sleep)

    @property
    def mode(self) -> Mode:
        return self._client.mode

    async def check_key(self) -> KeyCheck:
        """Ask for what does not exist: a key that lacks a right is told so before anything is looked for."""
        account = await self._find_account()
        missing = [right for right, ask in self._probes().items() if not await _may(ask)]
        return KeyCheck(
            mode=self.mode,
            account_id=account.id if account else None,
            account_name=account.settings.dashboard.display_name if account and account.settings else None,
            missing=tuple(missing),
        )

    async def create_session(self, wanted: SessionWanted, step: PaymentStep) -> CheckoutSession:
        metadata = {PAYMENT: str(wanted.payment_id)}
        title = wanted.title[:LONGEST_TITLE]
        price: Parameters = {
            "currency": wanted.amount.currency.lower(),
            "unit_amount": _count(wanted.amount),
            "product_data": {"name": title},
        }
        parameters: Parameters = {
            "mode": "payment",
            "line_items": [{"quantity": 1, "price_data": price}],
            "success_url": wanted.success_url,
            "cancel_url": wanted.cancel_url,
            "customer_email": wanted.email,
            "client_reference_id": str(wanted.payment_id),
            "metadata": metadata,
            # Events of the payment carry its own metadata, not the session's.
            "payment_intent_data": {"metadata": metadata, "description": title},
            "allowed_payment_method_types": ["card"],
            "submit_type": "book",
            "expires_at": int(wanted.expires_at.timestamp()),
            "locale": find_language(wanted.language),
        }
        return to_session(
            self._check(await self._client.post("checkout/sessions", WireSession, parameters, key=step.key))
        )

    async def get_session(self, session_id: str) -> CheckoutSession:
        session = await self._client.get(
            f"checkout/sessions/{segment(session_id)}", WireSession, {"expand": list(EXPANDED)}
        )
        return await self._complete(session)

    async def find_session(self, intent_id: str) -> CheckoutSession | None:
        found = await self._client.get(
            "checkout/sessions",
            WireList[WireSession],
            {"payment_intent": intent_id, "expand": [f"data.{each}" for each in EXPANDED]},
        )
        return await self._complete(found.data[0]) if found.data else None

    async def expire_session(self, session_id: str, step: PaymentStep) -> CheckoutSession:
        def convert(found: WireSession) -> CheckoutSession:
            return to_session(self._check(found))

        return await expire(self._client, session_id, step, wire=WireSession, convert=convert, read=self.get_session)

    async def create_refund(self, wanted: RefundWanted, step: PaymentStep) -> Refund:
        parameters: Parameters = {
            "payment_intent": wanted.intent_id,
            "amount": _count(wanted.amount),
            "reason": "requested_by_customer",
            "metadata": {STEP: step.key},
        }
        return to_refund(await self._client.post("refunds", WireRefund, parameters, key=step.key))

    async def list_notices(self, *, since: datetime) -> list[PaymentNotice]:
        return await list_notices(self._client, PAYMENT_EVENTS, since=since)

    async def register_endpoint(self, url: str, step: PaymentStep) -> NoticeEndpoint:
        parameters: Parameters = {
            "url": url,
            "enabled_events": list(PAYMENT_EVENTS),
            # Otherwise events come in the version that the account has chosen.
            "api_version": API_VERSION,
            "description": "Openslot",
        }
        made = await self._client.post("webhook_endpoints", WireEndpoint, parameters, key=step.key)
        return NoticeEndpoint(made.id, made.secret)

    async def remove_endpoint(self, endpoint_id: str) -> None:
        try:
            await self._client.delete(f"webhook_endpoints/{segment(endpoint_id)}")
        except CheckoutRefused as refused:
            if refused.status != 404:
                raise

    async def close(self) -> None:
        await self._client.close()

    async def _complete(self, session: WireSession) -> CheckoutSession:
        """Add the refunds and disputes of a session that has charged something."""
        self._check(session)
        charge, of_it = session.charge, {"payment_intent": session.intent_id, "limit": PAGE}
        if charge is None or not session.is_paid:
            return to_session(session)
        refunds = await self._client.get("refunds", WireList[WireRefund], of_it)
        disputes = await self._client.get("disputes", WireList[WireDispute], of_it) if charge.disputed else None
        return to_session(session, refunds.data, disputes.data if disputes else None)

    def _check(self, session: WireSession) -> WireSession:
        if session.mode is not self.mode:
            raise AnswerUnreadable("Stripe answered with a session of the other mode")
        return session

    async def _find_account(self) -> WireAccount | None:
        try:
            return await self._client.get("account", WireAccount)
        except RightMissing:
            return None

    def _probes(self) -> dict[KeyRight, Callable[[], Awaitable[object]]]:
        client, step = self._client, f"openslot-{uuid4()}-check"
        one = {"limit": 1}
        return {
            KeyRight.CHECKOUT: lambda: client.post(f"checkout/sessions/cs_{NOBODY}/expire", object, key=f"{step}-1"),
            KeyRight.PAYMENTS: lambda: client.get("payment_intents", object, one),
            KeyRight.REFUNDS: lambda: client.post(
                "refunds", object, {"payment_intent": f"pi_{NOBODY}"}, key=f"{step}-2"
            ),
            KeyRight.DISPUTES: lambda: client.get("disputes", object, one),
            KeyRight.EVENTS: lambda: client.get("events", object, one),
            KeyRight.ENDPOINTS: lambda: client.delete(f"webhook_endpoints/we_{NOBODY}"),
        }


class StripeCheckouts:
    """Implements the port `Checkouts`: one checkout per key."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, outbound: Outbound, key: str) -> StripeCheckout:
        return StripeCheckout(outbound, url=self._url, key=key)


@asynccontextmanager
async def open_checkouts(settings: Settings) -> AsyncIterator[StripeCheckouts]:
    yield StripeCheckouts(settings.stripe_url)


async def _may(ask: Callable[[], Awaitable[object]]) -> bool:
    try:
        await ask()
    except RightMissing:
        return False
    except CheckoutRefused:
        pass
    return True


def _count(money: Money) -> int:
    try:
        return to_stripe(money)
    except AmountNotPossible:
        raise CheckoutRefused("the amount's last digit must be zero", status=400, field="amount") from None
