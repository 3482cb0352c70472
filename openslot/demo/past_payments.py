"""What people have paid for past bookings: in test mode and without an account, so that no provider is asked."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from openslot.demo.bulk import copy_rows, to_row
from openslot.demo.past import KEPT, PastMeeting
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import rules
from openslot.domains.payments.events import PaymentNeedsAttention, PaymentReceived, PaymentRefunded
from openslot.domains.payments.models import (
    DisputeOutcome,
    Mode,
    PaymentState,
    Problem,
    RefundReason,
    RefundState,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.refunds.rules import sum_refunds
from openslot.domains.payments.store import PAYMENTS, REFUNDS
from openslot.platform.core.actor import ActorKind
from openslot.platform.core.db import Db
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id

DISPUTED, PARTLY_REFUNDED = -3, -4
"""The indexes, from the end, of meetings that took place: on both days a meeting was over long ago."""
ANSWER_WITHIN = timedelta(days=14)


class PastPayments:
    """The payments of one host; what a cancelled meeting has cost was refunded."""

    def __init__(
        self, meetings: Sequence[PastMeeting], tell: Callable[[datetime, Event], None], *, base_url: str
    ) -> None:
        kept = [each for each in meetings if each.offer.price is not None and each.fate == KEPT]
        self._disputed, self._partly_refunded = (
            kept[each] if len(kept) >= -each else None for each in (DISPUTED, PARTLY_REFUNDED)
        )
        self._tell = tell
        self._base_url = base_url
        self._payments: dict[UUID, StoredPayment] = {}
        self._refunds: list[StoredRefund] = []

    def pay(self, booking: Booking, offer: EventType) -> Booking:
        """Confirm a booking by its payment; one that costs nothing stays as it is."""
        if offer.price is None:
            return booking
        at = booking.created_at
        payment = StoredPayment(
            id=new_id(),
            booking_id=booking.id,
            host_id=booking.host_id,
            connection_id=None,
            mode=Mode.TEST,
            price=offer.price,
            refund_policy=offer.refund_policy,
            state=PaymentState.PAID,
            expires_at=at + rules.PAYS_WITHIN,
            held_until=at + rules.PAYS_WITHIN + rules.HELD_LONGER,
            paid_at=at,
            created_at=at,
            updated_at=at,
        )
        return self._keep(replace(booking, status=Status.CONFIRMED), payment)

    def tell_received(self, booking: Booking, offer: EventType) -> None:
        if booking.id in self._payments:
            self._tell(booking.created_at, PaymentReceived(**self._name(booking, offer)))

    def settle(self, booking: Booking, meeting: PastMeeting) -> Booking:
        """Return a booking with what became of its payment at last."""
        payment = self._payments.get(booking.id)
        if payment is None:
            return booking
        if booking.status is Status.CANCELLED:
            at = booking.updated_at + timedelta(seconds=2)
            return self._refund(booking, meeting.offer, payment.price.amount, RefundReason.CANCELLED, at=at)
        at = booking.ends_at + timedelta(hours=3)
        if meeting is self._partly_refunded:
            return self._refund(booking, meeting.offer, payment.price.amount // 4, RefundReason.HOST, at=at)
        return self._dispute(booking, meeting.offer, at=at) if meeting is self._disputed else booking

    async def write(self, db: Db) -> None:
        await copy_rows(db, "payments", [to_row(PAYMENTS, each) for each in self._payments.values()])
        await copy_rows(db, "refunds", [to_row(REFUNDS, each) for each in self._refunds])
        await copy_rows(db, "revenue", self._list_revenue())

    def _refund(
        self, booking: Booking, offer: EventType, amount: int, reason: RefundReason, *, at: datetime
    ) -> Booking:
        payment = self._payments[booking.id]
        refund = StoredRefund(
            id=new_id(),
            payment_id=payment.id,
            amount=amount,
            reason=reason,
            state=RefundState.SUCCEEDED,
            by=ActorKind.SESSION,
            created_at=at,
            updated_at=at,
        )
        self._refunds.append(refund)
        refunded = self._keep(booking, replace(sum_refunds(payment, [refund]), updated_at=at))
        self._tell(at, PaymentRefunded(**self._name(refunded, offer), refund=refund))
        return refunded

    def _dispute(self, booking: Booking, offer: EventType, *, at: datetime) -> Booking:
        payment = replace(
            self._payments[booking.id],
            dispute=DisputeOutcome.OPEN,
            respond_by=at + ANSWER_WITHIN,
            problems=(Problem.DISPUTED,),
            updated_at=at,
        )
        disputed = self._keep(booking, payment)
        self._tell(at, PaymentNeedsAttention(**self._name(disputed, offer), problem=Problem.DISPUTED))
        return disputed

    def _keep(self, booking: Booking, payment: StoredPayment) -> Booking:
        self._payments[booking.id] = payment
        return replace(booking, payment=rules.describe(payment))

    def _name(self, booking: Booking, offer: EventType) -> dict[str, Any]:
        payment = self._payments[booking.id]
        return {"payment": payment, "booking": booking, "event_type": offer, "base_url": self._base_url}

    def _list_revenue(self) -> list[dict[str, Any]]:
        days = defaultdict[tuple[Any, ...], list[int]](lambda: [0, 0, 0])
        by_id = {each.id: each for each in self._payments.values()}
        for each in by_id.values():
            day = days[each.host_id, each.created_at.date(), each.price.currency, each.mode]
            day[0] += each.price.amount
            day[2] += 1
        for refund in self._refunds:
            payment = by_id[refund.payment_id]
            days[payment.host_id, refund.created_at.date(), payment.price.currency, payment.mode][1] += refund.amount
        names = ("host_id", "day", "currency", "mode", "received", "refunded", "payments")
        return [dict(zip(names, (*key, *sums), strict=True)) for key, sums in days.items()]
