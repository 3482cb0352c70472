"""The nouns of payments: connections, and a provider's sessions of its checkout, refunds, disputes and notices."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.event_types.models import Money


class Mode(StrEnum):
    """Whether money moves: keys, sessions and notices belong to one of two worlds that never meet."""

    TEST = "test"
    LIVE = "live"


class PaymentConnection(Struct, frozen=True, kw_only=True):
    """An account of a payment provider that a user has connected, or an organization for its members."""

    id: UUID
    user_id: UUID | None
    organization_id: UUID | None
    mode: Mode
    key: bytes | None
    """Sealed; None where it was disconnected."""
    key_ending: str
    notice_secret: bytes | None = None
    """Sealed; None where the provider sends no notices, and is only read."""
    endpoint_id: str | None = None
    """The endpoint that we have registered."""
    account_id: str | None = None
    account_name: str | None = None
    read_until: datetime
    """The time up to which the provider's list of what happened was read."""
    last_read_at: datetime | None = None
    last_error: str | None = None
    """Why it could not be read the last time."""
    failing_since: datetime | None = None
    told_at: datetime | None = None
    """When its owner was told that it can't be read."""
    connected_at: datetime
    disconnected_at: datetime | None = None

    @property
    def owner_id(self) -> UUID:
        """The user or the organization that it belongs to."""
        owner_id = self.user_id or self.organization_id
        assert owner_id is not None  # noqa: S101 - the table has exactly one of them
        return owner_id


class ConnectionWanted(Struct, frozen=True, kw_only=True):
    key: str
    notice_secret: str | None = None
    """Set if somebody has registered the endpoint by hand."""


class ConnectionPreview(Struct, frozen=True, kw_only=True):
    """What a disconnection leaves open."""

    under_way: int
    """Bookings that somebody is paying for."""
    upcoming: int
    """Paid bookings that are not over."""


class ConnectionEnding(Struct, frozen=True, kw_only=True):
    """What is still to be done at the provider for a connection that is gone."""

    id: UUID
    behalf_of: UUID
    key: bytes
    """Sealed."""
    endpoint_id: str | None
    sessions: tuple[str, ...] = ()
    """Checkouts that were open: nobody may pay for them any more."""
    ended_at: datetime


class CheckoutStatus(StrEnum):
    OPEN = "open"
    COMPLETE = "complete"
    """The form was finished; the money of a delayed method may still be missing."""
    EXPIRED = "expired"


class RefundStatus(StrEnum):
    PENDING = "pending"
    NEEDS_ACTION = "requires_action"
    SUCCEEDED = "succeeded"
    """It can still fail, days later."""
    FAILED = "failed"
    CANCELLED = "canceled"

    @property
    def is_lost(self) -> bool:
        """Whether the money has stayed with the host."""
        return self in {RefundStatus.FAILED, RefundStatus.CANCELLED}


class DisputeOutcome(StrEnum):
    OPEN = "open"
    WON = "won"
    LOST = "lost"
    """The money went back to the payer."""


class Refund(Struct, frozen=True, kw_only=True):
    id: str
    amount: Money
    status: RefundStatus
    created_at: datetime
    step: str | None = None
    """The idempotency key of the request that made it; None if it was made in the provider's own pages."""
    failure: str | None = None
    """Why it failed, in a word of the provider."""


class Dispute(Struct, frozen=True, kw_only=True):
    id: str
    amount: Money
    outcome: DisputeOutcome
    reason: str
    created_at: datetime
    respond_by: datetime | None = None


class CheckoutSession(Struct, frozen=True, kw_only=True):
    """A checkout as it is now, with everything that became of its money."""

    id: str
    mode: Mode
    status: CheckoutStatus
    is_paid: bool
    """The money has come. A complete session without it waits for a delayed method."""
    has_failed: bool = False
    """The money of a delayed method will not come."""
    amount: Money
    created_at: datetime
    expires_at: datetime
    reference: str | None = None
    """Our own id of the payment."""
    url: str | None = None
    """Where the payer pays, while it is open."""
    intent_id: str | None = None
    """The id that refunds and disputes refer to."""
    paid_at: datetime | None = None
    receipt_url: str | None = None
    refunds: tuple[Refund, ...] = ()
    """Oldest first."""
    disputes: tuple[Dispute, ...] = ()


class PaymentStep(Struct, frozen=True):
    """One thing that is done once for a payment, however often it is asked for.

    A new attempt is a new thing: only after the provider has kept a failure of its own as the answer to the old one.
    """

    subject_id: UUID
    """The payment, or the connection."""
    name: str
    attempt: int = 1

    @property
    def key(self) -> str:
        return f"openslot-{self.subject_id}-{self.name}-{self.attempt}"


class SessionWanted(Struct, frozen=True, kw_only=True):
    payment_id: UUID
    amount: Money
    title: str
    """The title of the payment, as the payer and the host read it."""
    email: str
    success_url: str
    cancel_url: str
    expires_at: datetime
    language: str = "auto"


class RefundWanted(Struct, frozen=True, kw_only=True):
    intent_id: str
    amount: Money


class PaymentNotice(Struct, frozen=True, kw_only=True):
    """Something has happened at the provider: what to read anew. What it says of the object's state may be old."""

    id: str
    type: str
    created_at: datetime
    mode: Mode
    object_id: str
    session_id: str | None = None
    intent_id: str | None = None
    subscription_id: str | None = None
    customer_id: str | None = None
    reference: str | None = None
    """Our own id of the payment, if the object carries it."""


class WaitingNotice(Struct, frozen=True, kw_only=True):
    """A notice that was kept, and names the payment that is to be read anew."""

    id: str
    session_id: str | None
    intent_id: str | None
    reference: str | None


class NoticeEndpoint(Struct, frozen=True):
    id: str
    secret: str
    """The signing secret, told only once, when the endpoint is registered."""


class KeyRight(StrEnum):
    """What a restricted key must be allowed to do, by the names of the provider's own page."""

    CHECKOUT = "Checkout Sessions: write"
    PAYMENTS = "PaymentIntents: read"
    REFUNDS = "Charges and Refunds: write"
    DISPUTES = "Disputes: read"
    EVENTS = "Events: read"
    ENDPOINTS = "Webhook Endpoints: write"


class KeyCheck(Struct, frozen=True, kw_only=True):
    mode: Mode
    account_id: str | None
    account_name: str | None
    """None if the key may not read it, which is no fault."""
    missing: tuple[KeyRight, ...]


class PaymentState(StrEnum):
    """How far a payment has come; late money still settles one that was released."""

    OPENING = "opening"
    """The time is taken, and the provider's checkout is not known yet."""
    OPEN = "open"
    PROCESSING = "processing"
    """The form was finished; the money of a delayed method is on its way."""
    PAID = "paid"
    RELEASED = "released"
    """The time was freed without money."""

    @property
    def is_under_way(self) -> bool:
        """Return whether a booking's time is kept until the money comes."""
        return self in (PaymentState.OPENING, PaymentState.OPEN, PaymentState.PROCESSING)


class Problem(StrEnum):
    """Why a person must look at a payment."""

    AMOUNT_DIFFERS = "amount_differs"
    """The provider names another amount or currency than the booking's."""
    PAID_LATE = "paid_late"
    """The money came when the time was gone, and goes back."""
    REFUND_FAILED = "refund_failed"
    DISPUTED = "disputed"
    """The payer's bank asks for the money back."""
    DISPUTE_LOST = "dispute_lost"
    CHECKOUT_REFUSED = "checkout_refused"
    """The provider refuses to take this price, so nobody can book."""
    PROVIDER_LOST = "provider_lost"
    """The provider could not be asked for so long that the time was freed; money may have come."""


class StoredPayment(Struct, frozen=True, kw_only=True):
    """What an invitee pays for a booking, and what became of the money."""

    id: UUID
    booking_id: UUID
    host_id: UUID
    connection_id: UUID | None
    mode: Mode
    price: Money
    refund_policy: str
    """The refund policy of the event type when it was booked: full, none, or until:24."""
    refund_until: datetime | None = None
    """The end of the full refund, if the booking was moved; None if the policy decides."""
    state: PaymentState
    version: int = 0
    """Counts the changes, those of its refunds too: what was read from the provider before the last one is old."""
    session_id: str | None = None
    url: str | None = None
    intent_id: str | None = None
    receipt_url: str | None = None
    expires_at: datetime
    """The time until which the provider lets people pay."""
    held_until: datetime
    """The time until which the booked time is kept: a little longer."""
    paid_at: datetime | None = None
    refunded_amount: int = 0
    has_failed_refund: bool = False
    """Whether the last refund has failed."""
    dispute: DisputeOutcome | None = None
    respond_by: datetime | None = None
    problems: tuple[str, ...] = ()
    """Why a person must look at it, each a `Problem`, oldest first."""
    next_read_at: datetime | None = None
    """When the provider is read next; None if only after it tells that something has happened."""
    created_at: datetime
    updated_at: datetime

    @property
    def problem(self) -> Problem | None:
        """The newest reason why a person must look at it."""
        return Problem(self.problems[-1]) if self.problems else None


class RefundReason(StrEnum):
    CANCELLED = "cancelled"
    """The booking was cancelled, and its policy gives money back."""
    LATE = "late"
    """The money came when the time was gone."""
    HOST = "host"
    """The host has asked for it, or can't be met any more."""
    OUTSIDE = "outside"
    """It was made in the provider's own pages."""


class RefundState(StrEnum):
    WANTED = "wanted"
    """The provider was not asked yet, or its answer is not known."""
    PENDING = "pending"
    SUCCEEDED = "succeeded"
    """It can still fail, days later."""
    FAILED = "failed"
    CANCELLED = "canceled"

    @property
    def is_lost(self) -> bool:
        """Whether the money has stayed with the host."""
        return self in {RefundState.FAILED, RefundState.CANCELLED}


class StoredRefund(Struct, frozen=True, kw_only=True):
    """Money that goes back to a payer, as we keep it."""

    id: UUID
    payment_id: UUID
    amount: int
    reason: RefundReason
    state: RefundState
    vendor_id: str | None = None
    attempt: int = 1
    is_rest: bool = False
    """Whether all that is left was asked for: if less is left by then, that goes back."""
    by: str
    """The kind of actor that has asked for it."""
    error: str | None = None
    created_at: datetime
    updated_at: datetime


class PaymentFilter(Struct, frozen=True, kw_only=True):
    status: str | None = None
    """The status that people are shown; None if all that was ever paid."""
    currency: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    search: str = ""
    """Part of the invitee's name or email address."""


class ListedPayment(Struct, frozen=True, kw_only=True):
    """A payment in a list, with what it was paid for."""

    payment: StoredPayment
    invitee_name: str
    invitee_email: str
    event_type_name: str
    starts_at: datetime


class RevenueTotal(Struct, frozen=True, kw_only=True):
    """What a host has received and given back in one currency."""

    currency: str
    mode: Mode
    received: int
    refunded: int
    payments: int
