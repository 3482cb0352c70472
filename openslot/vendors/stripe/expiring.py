"""Ending a session of the checkout, whatever it is for."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from openslot.domains.payments.models import CheckoutSession, CheckoutStatus, PaymentStep
from openslot.domains.payments.ports import CheckoutRefused
from openslot.domains.plans.models import PlanCheckout
from openslot.vendors.stripe.client import StripeClient
from openslot.vendors.stripe.forms import segment

W = TypeVar("W")
S = TypeVar("S", CheckoutSession, PlanCheckout)


async def expire(
    client: StripeClient,
    session_id: str,
    step: PaymentStep,
    *,
    wire: type[W],
    convert: Callable[[W], S],
    read: Callable[[str], Awaitable[S]],
) -> S:
    """Let nobody finish a session any more, and return it; only an open one can be expired, so others are read."""
    try:
        return convert(await client.post(f"checkout/sessions/{segment(session_id)}/expire", wire, key=step.key))
    except CheckoutRefused as refused:
        session = await read(session_id)
        if session.status is CheckoutStatus.OPEN:
            raise refused from None
        return session
