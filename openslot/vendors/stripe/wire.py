"""Stripe's objects as far as they are read, and the nouns that are made of them."""

from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from openslot.domains.payments.models import (
    CheckoutSession,
    CheckoutStatus,
    Dispute,
    DisputeOutcome,
    Mode,
    Refund,
    RefundStatus,
)
from openslot.vendors.stripe.amounts import from_stripe

# How many objects of a list Stripe sends at once, at most.
PAGE = 100
STEP = "openslot_step"
PAYMENT = "openslot_payment"
SUBSCRIBER = "openslot_subscriber"
# Ours that Stripe has too; others see the one that their browser asks for.
LANGUAGES = frozenset(("de", "en", "es", "fr", "ja", "pt"))
LOST = frozenset({"lost"})
WON = frozenset({"won", "warning_closed", "prevented"})

W = TypeVar("W")


class WireList(Struct, Generic[W], frozen=True):
    data: list[W]
    has_more: bool = False


class WireCharge(Struct, frozen=True):
    id: str
    created: int
    disputed: bool = False
    receipt_url: str | None = None


class WireIntent(Struct, frozen=True):
    id: str
    status: str | None = None
    latest_charge: WireCharge | str | None = None


class WireSession(Struct, frozen=True):
    id: str
    created: int
    expires_at: int
    livemode: bool
    status: CheckoutStatus
    payment_status: Literal["paid", "unpaid", "no_payment_required"]
    amount_total: int | None = None
    currency: str | None = None
    client_reference_id: str | None = None
    payment_intent: WireIntent | str | None = None
    url: str | None = None

    @property
    def mode(self) -> Mode:
        return mode_of(livemode=self.livemode)

    @property
    def intent_id(self) -> str | None:
        return self.payment_intent.id if isinstance(self.payment_intent, WireIntent) else self.payment_intent

    @property
    def has_failed(self) -> bool:
        """Whether the money of a delayed method has not come: its intent waits for another one that nobody can give."""
        status = self.payment_intent.status if isinstance(self.payment_intent, WireIntent) else None
        is_unpaid = self.status is CheckoutStatus.COMPLETE and not self.is_paid
        return is_unpaid and status in {"requires_payment_method", "canceled"}

    @property
    def charge(self) -> WireCharge | None:
        """What the payment's last try has charged, if Stripe was asked to tell."""
        charge = self.payment_intent.latest_charge if isinstance(self.payment_intent, WireIntent) else None
        return charge if isinstance(charge, WireCharge) else None

    @property
    def is_paid(self) -> bool:
        return self.payment_status != "unpaid"


class WireRefund(Struct, frozen=True):
    id: str
    amount: int
    currency: str
    created: int
    status: RefundStatus | None = None
    failure_reason: str | None = None
    metadata: dict[str, str] | None = None


class WireEvidence(Struct, frozen=True):
    due_by: int | None = None


class WireDispute(Struct, frozen=True):
    id: str
    amount: int
    currency: str
    created: int
    status: str
    reason: str = ""
    evidence_details: WireEvidence = WireEvidence()


class WireEndpoint(Struct, frozen=True):
    id: str
    secret: str


class WireDashboard(Struct, frozen=True):
    display_name: str | None = None


class WireSettings(Struct, frozen=True):
    dashboard: WireDashboard = WireDashboard()


class WireAccount(Struct, frozen=True):
    id: str
    settings: WireSettings | None = None


class WireBilled(Struct, frozen=True):
    subscription: str | None = None


class WireParent(Struct, frozen=True):
    """What an invoice is for."""

    subscription_details: WireBilled | None = None


class WireSubject(Struct, frozen=True):
    """The object that an event is about: of any kind, so almost nothing is certain."""

    object: str
    id: str = ""
    payment_intent: WireIntent | str | None = None
    subscription: str | None = None
    customer: str | None = None
    parent: WireParent | None = None
    metadata: dict[str, str] | None = None
    client_reference_id: str | None = None


class WireData(Struct, frozen=True):
    object: WireSubject


class WireEvent(Struct, frozen=True):
    id: str
    object: str
    type: str = ""
    created: int = 0
    livemode: bool = False
    data: WireData | None = None


def find_language(language: str) -> str:
    return language if language in LANGUAGES else "auto"


def mode_of(*, livemode: bool) -> Mode:
    return Mode.LIVE if livemode else Mode.TEST


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def to_session(
    session: WireSession, refunds: list[WireRefund] | None = None, disputes: list[WireDispute] | None = None
) -> CheckoutSession:
    charge = session.charge
    return CheckoutSession(
        id=session.id,
        mode=session.mode,
        status=session.status,
        is_paid=session.is_paid,
        has_failed=session.has_failed,
        amount=from_stripe(session.amount_total or 0, session.currency or ""),
        created_at=moment(session.created),
        expires_at=moment(session.expires_at),
        reference=session.client_reference_id,
        url=session.url,
        intent_id=session.intent_id,
        paid_at=moment(charge.created) if charge and session.is_paid else None,
        receipt_url=charge.receipt_url if charge and session.is_paid else None,
        refunds=tuple(to_refund(each) for each in reversed(refunds or ())),
        disputes=tuple(to_dispute(each) for each in reversed(disputes or ())),
    )


def to_refund(refund: WireRefund) -> Refund:
    return Refund(
        id=refund.id,
        amount=from_stripe(refund.amount, refund.currency),
        status=refund.status or RefundStatus.PENDING,
        created_at=moment(refund.created),
        step=(refund.metadata or {}).get(STEP),
        failure=refund.failure_reason,
    )


def to_dispute(dispute: WireDispute) -> Dispute:
    outcome = DisputeOutcome.LOST if dispute.status in LOST else DisputeOutcome.OPEN
    due = dispute.evidence_details.due_by
    return Dispute(
        id=dispute.id,
        amount=from_stripe(dispute.amount, dispute.currency),
        outcome=DisputeOutcome.WON if dispute.status in WON else outcome,
        reason=dispute.reason,
        created_at=moment(dispute.created),
        respond_by=moment(due) if due else None,
    )
