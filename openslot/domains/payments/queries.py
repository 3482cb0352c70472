"""What pages show of payments."""

from collections.abc import Collection
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import BookingDetails
from openslot.domains.event_types.accounts.operations import list_accounts
from openslot.domains.payments import store
from openslot.domains.payments.connections.store import may_use_connection
from openslot.domains.payments.errors import PaymentNotFound
from openslot.domains.payments.models import PaymentState, StoredPayment, StoredRefund
from openslot.domains.payments.refunds.rules import count_refundable
from openslot.platform.core.errors import require
from openslot.platform.core.work import Work


class PaymentOverview(Struct, frozen=True, kw_only=True):
    """A payment with all that became of it."""

    payment: StoredPayment
    details: BookingDetails
    refunds: list[StoredRefund]
    refundable: int
    """The amount that the host can still give back."""


async def takes_payments(work: Work, host: User) -> bool:
    """Answer whether invitees can pay a host: they, or an organization of theirs, have connected an account."""
    return bool(await list_accounts(work, host.id))


async def get_overview(work: Work, host: User, payment_id: UUID) -> PaymentOverview:
    found = require(await store.find_payment(work.db, payment_id), PaymentNotFound)
    if found.payment.host_id != host.id:
        raise PaymentNotFound
    refunds = await store.list_refunds(work.db, payment_id)
    may_refund = await may_use_connection(work.db, host.id, payment_id)
    refundable = count_refundable(found.payment, refunds) if may_refund else 0
    return PaymentOverview(payment=found.payment, details=found.details, refunds=refunds, refundable=refundable)


async def list_of_bookings(work: Work, host: User, booking_ids: Collection[UUID]) -> list[StoredPayment]:
    """List what was paid for some of a host's bookings; most cost nothing."""
    if not booking_ids:
        return []
    found = await store.list_of_bookings(work.db, host.id, booking_ids)
    return [each for each in found if each.state is PaymentState.PAID]
