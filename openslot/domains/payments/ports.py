"""The ports of a payment provider: what it must offer for one account, and how it can fail."""

from datetime import datetime, timedelta
from typing import Protocol

from openslot.domains.payments.models import (
    CheckoutSession,
    KeyCheck,
    Mode,
    NoticeEndpoint,
    PaymentNotice,
    PaymentStep,
    Refund,
    RefundWanted,
    SessionWanted,
)
from openslot.platform.core.outbound import Outbound


class CheckoutFault(Exception):
    """The provider did not do what was asked; no fault repeats a key or a secret."""


class CheckoutRefused(CheckoutFault):
    """The request itself is wrong, or what it names is not there; the same request never succeeds."""

    def __init__(self, message: str, *, status: int, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


class PaymentDeclined(CheckoutRefused):
    """The payer's bank or the provider's own rules refuse the money."""


class KeyRefused(CheckoutFault):
    """The key is not valid, or no longer."""


class RightMissing(CheckoutFault):
    """The key may not do this; `right` is the provider's own word for what it lacks, if it says so."""

    def __init__(self, right: str | None) -> None:
        super().__init__(f"the key lacks the right {right}" if right else "the key lacks a right")
        self.right = right


class CheckoutUnavailable(CheckoutFault):
    """There is no answer, or the provider has a fault of its own; the same request may succeed later."""

    def __init__(self, message: str, *, may_have_happened: bool, needs_new_attempt: bool = False) -> None:
        super().__init__(message)
        self.may_have_happened = may_have_happened
        """The request may have been carried out: repeat the same step, or read, before anything else."""
        self.needs_new_attempt = needs_new_attempt
        """The fault was kept as the answer to this step; only a step with another attempt can succeed."""


class CheckoutBusy(CheckoutFault):
    """Too many requests; nothing was done."""

    def __init__(self, after: timedelta | None = None) -> None:
        super().__init__("the payment provider asks for fewer requests")
        self.after = after


class AnswerUnreadable(CheckoutFault):
    """The answer is not what the provider's documentation promises; what was asked may have happened."""


class Checkouts(Protocol):
    """A payment provider: opens the account of each key."""

    def open(self, outbound: Outbound, key: str) -> "Checkout":
        """Open an account; raise `KeyRefused` for what is no key."""
        ...


class Checkout(Protocol):
    """One account of a payment provider; what it can't do is a `CheckoutFault`."""

    @property
    def mode(self) -> Mode: ...

    async def check_key(self) -> KeyCheck:
        """Tell what the key may do, without changing anything; raise `KeyRefused` if it is not valid."""
        ...

    async def create_session(self, wanted: SessionWanted, step: PaymentStep) -> CheckoutSession: ...

    async def get_session(self, session_id: str) -> CheckoutSession:
        """Read a session with its payment, refunds and disputes, as they are now."""
        ...

    async def find_session(self, intent_id: str) -> CheckoutSession | None:
        """Find the session whose payment a refund or a dispute names."""
        ...

    async def expire_session(self, session_id: str, step: PaymentStep) -> CheckoutSession:
        """Let nobody pay any more, and return the session, which was perhaps paid a moment before."""
        ...

    async def create_refund(self, wanted: RefundWanted, step: PaymentStep) -> Refund: ...

    async def list_notices(self, *, since: datetime) -> list[PaymentNotice]:
        """List what has happened since then, oldest first; ask from before the last one, because they come late."""
        ...

    async def register_endpoint(self, url: str, step: PaymentStep) -> NoticeEndpoint: ...

    async def remove_endpoint(self, endpoint_id: str) -> None:
        """Stop notices to an endpoint; one that is gone already is no fault."""
        ...

    async def close(self) -> None: ...
