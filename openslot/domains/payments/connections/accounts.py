"""Connections to a payment provider: how they are opened, and what can be wrong with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from openslot.domains.payments.errors import PaymentsNotConnected
from openslot.domains.payments.models import PaymentConnection
from openslot.domains.payments.ports import Checkout, CheckoutFault, Checkouts, KeyRefused, RightMissing
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import OutboundRefused, check_url
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import CodedReason

REFUSED = CodedReason("payments.refused", "Stripe refuses the key")
LACKS_RIGHT = CodedReason("payments.lacks_right", "The key lacks the right %(right)s")
LACKS_SOME_RIGHT = CodedReason("payments.lacks_some_right", "The key lacks a right")
UNREACHABLE = CodedReason("payments.unreachable", "Stripe can't be reached")


@asynccontextmanager
async def opened_payment_account(runtime: Runtime, connection: PaymentConnection) -> AsyncIterator[Checkout]:
    """Open the account of a connection, with the guarded client on behalf of its owner; no transaction may be open."""
    if connection.key is None:
        raise PaymentsNotConnected
    async with opened_by_key(runtime, connection.owner_id, runtime.secrets.open(connection.key)) as checkout:
        yield checkout


@asynccontextmanager
async def opened_by_key(runtime: Runtime, owner_id: UUID, key: str) -> AsyncIterator[Checkout]:
    checkout = runtime.ports.get(Checkouts).open(runtime.outbound.on_behalf_of(owner_id), key)
    try:
        yield checkout
    finally:
        await checkout.close()


def notice_url(settings: Settings, connection_id: UUID) -> str:
    """Write where the provider sends the notices of a connection."""
    return f"{settings.public_url}/api/notices/stripe/{connection_id}"


def can_be_notified(settings: Settings) -> bool:
    """Answer whether the provider can reach this installation: only by https, at an address that is public."""
    try:
        check_url(settings.public_url)
    except OutboundRefused:
        return False
    return settings.public_url.startswith("https://")


def describe_fault(fault: CheckoutFault) -> CodedReason:
    """Say why an account can't be read, in words that can be kept."""
    if isinstance(fault, KeyRefused):
        return REFUSED
    if isinstance(fault, RightMissing):
        return LACKS_RIGHT.fill(right=fault.right) if fault.right else LACKS_SOME_RIGHT
    return UNREACHABLE
