"""The port of a payment provider for the operator's own account."""

from datetime import datetime
from typing import Protocol

from openslot.domains.payments.models import (
    Mode,
    PaymentNotice,
    PaymentStep,
)
from openslot.domains.plans.models import PlanCheckout, PlanCheckoutWanted, Price, Subscription
from openslot.platform.core.outbound import Outbound


class Billings(Protocol):
    """A provider that bills users and organizations for their plans."""

    def open(self, outbound: Outbound) -> "Billing | None":
        """Open the operator's account; None if plans are not sold."""
        ...


class Billing(Protocol):
    """The operator's account, where plans are subscribed to; what it can't do is a `CheckoutFault`."""

    @property
    def mode(self) -> Mode: ...

    async def get_price(self, price_id: str) -> Price: ...

    async def create_checkout(self, wanted: PlanCheckoutWanted, step: PaymentStep) -> PlanCheckout: ...

    async def get_checkout(self, session_id: str) -> PlanCheckout: ...

    async def expire_checkout(self, session_id: str, step: PaymentStep) -> PlanCheckout:
        """Let nobody subscribe by it any more, and return it, which was perhaps finished a moment before."""
        ...

    async def list_subscriptions(self, customer_id: str) -> list[Subscription]:
        """List all subscriptions of a customer, those that are over too, oldest first."""
        ...

    async def cancel_subscription(self, subscription_id: str, *, is_credited: bool = False) -> None:
        """End a subscription at once; one that is over already is no fault.

        What is left of its period can be credited: the customer's other invoices are lower by it.
        """
        ...

    async def open_portal(self, customer_id: str, *, return_url: str, step: PaymentStep) -> str:
        """Open the provider's page where a customer changes, pays and cancels, and return its address."""
        ...

    async def list_notices(self, *, since: datetime) -> list[PaymentNotice]:
        """List what has happened since then, oldest first; ask from before the last one, because they come late."""
        ...

    async def close(self) -> None: ...
