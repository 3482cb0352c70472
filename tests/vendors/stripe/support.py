"""What the tests of Stripe ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.event_types.models import Money
from openslot.domains.payments.models import CheckoutSession, PaymentStep, RefundWanted, SessionWanted
from openslot.domains.payments.ports import Checkout
from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.checkout import StripeCheckout
from tests.support.clocks import MONDAY
from tests.support.fake_stripe import FakeStripe

PAYMENT = UUID("018f0000-0000-7000-8000-000000000001")
SESSION = PaymentStep(PAYMENT, "session")
EXPIRE = PaymentStep(PAYMENT, "expire")
REFUND = PaymentStep(PAYMENT, "refund")
ENDPOINT = PaymentStep(PAYMENT, "endpoint")
PRICE = Money(4900, "EUR")
WANTED = SessionWanted(
    payment_id=PAYMENT,
    amount=PRICE,
    title="Consultation & more, 30 min",
    email="jonas@okafor.example",
    success_url="https://openslot.example/paid/token?session={CHECKOUT_SESSION_ID}",
    cancel_url="https://openslot.example/mara/consultation",
    expires_at=MONDAY + timedelta(minutes=33),
    language="de",
)


@asynccontextmanager
async def open_checkout(
    fake: FakeStripe, key: str, outbound: Outbound, *, naps: list[float] | None = None
) -> AsyncIterator[StripeCheckout]:
    """Open the checkout of a key; between tries it does not wait, but notes how long it would."""
    noted: list[float] = [] if naps is None else naps

    async def nap(seconds: float) -> None:
        noted.append(seconds)

    opened = StripeCheckout(outbound, url=fake.url, key=key, sleep=nap)
    try:
        yield opened
    finally:
        await opened.close()


async def begin(checkout: Checkout, **changes: Any) -> CheckoutSession:
    """Make a session."""
    return await checkout.create_session(replace(WANTED, **changes), SESSION)


def back(session: CheckoutSession, amount: int = PRICE.amount) -> RefundWanted:
    """Ask for money back."""
    assert session.intent_id is not None
    return RefundWanted(intent_id=session.intent_id, amount=Money(amount, session.amount.currency))
