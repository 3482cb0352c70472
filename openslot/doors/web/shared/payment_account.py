"""The payment account of a host or of an organization."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from openslot.domains.accounts.models import Organization
from openslot.domains.payments.connections.accounts import can_be_notified, notice_url
from openslot.domains.payments.connections.operations import (
    AccountOwner,
    AccountReplacement,
    CheckedAccount,
    check_payment_account,
    name_payment_account,
)
from openslot.domains.payments.errors import PaymentConnectionChanged
from openslot.domains.payments.models import ConnectionWanted, KeyRight, Mode, PaymentConnection
from openslot.domains.payments.replacing import read_answer, write_question
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import RateLimit

# Each try sends a key to Stripe, and nobody is to try keys through this installation.
TRIES = RateLimit("payment-keys", 10)
NOTICES = {
    "connected": Text("Payments are connected."),
    "replaced": Text("The new key is used from now on."),
    "disconnected": Text("Payments are disconnected, and the key is deleted here."),
}
MODES = {Mode.TEST: (Text("Test mode"), "warn"), Mode.LIVE: (Text("Live"), "good")}
NAMES = {"noticeSecret": "secret"}
QUESTION = "dashboard/payments/replace.html"
NO_KEY = Text("Paste the key")


class PaymentKeyForm(Struct, frozen=True, kw_only=True):
    key: Annotated[str, Meta(pattern=LINE, max_length=300)] = ""
    secret: Annotated[str, Meta(pattern=LINE, max_length=300)] = ""
    asked: Annotated[str, Meta(pattern=LINE, max_length=3000)] = ""
    """The question that is answered instead, which carries the key."""

    @property
    def wanted(self) -> ConnectionWanted:
        return ConnectionWanted(key=self.key.strip(), notice_secret=self.secret.strip() or None)


class DisconnectionForm(Struct, frozen=True):
    """A question that is answered by sending it."""


async def check(work: Work, owner: AccountOwner, sent: PaymentKeyForm) -> tuple[CheckedAccount, bool]:
    """Check the account of a key, or of a question that is answered; tell whether all that follows was agreed to."""
    if not sent.asked:
        if not sent.key:
            raise Invalid(details={"key": NO_KEY})
        return await check_payment_account(work, owner, sent.wanted), False
    asked = read_answer(work, owner, sent.asked)
    account = await check_payment_account(work, owner, asked.wanted)
    if account.replacement is None:
        raise PaymentConnectionChanged
    return account, account.replacement == asked.replacement


def ask(
    work: Work, owner: AccountOwner, account: CheckedAccount, replacement: AccountReplacement, sent: PaymentKeyForm
) -> dict[str, Any]:
    """Say what both pages tell before an account takes the place of another one."""
    assert account.known is not None  # noqa: S101 - it is replaced
    known, found = account.known, account.found
    return {
        "old": (name_payment_account(known), known.account_id, *MODES[known.mode]),
        "new": (account.name, found.account_id, *MODES[found.mode]),
        "mode": None if found.mode is known.mode else found.mode,
        "replacement": replacement,
        "is_organization": isinstance(owner, Organization),
        "has_changed": bool(sent.asked),
        "fields": {"asked": write_question(work, owner, account, replacement)},
    }


def describe(work: Work, connection: PaymentConnection | None) -> dict[str, Any]:
    """Say what both pages tell of a connection, or of how to make one."""
    settings = work.runtime.settings
    needed = [each for each in KeyRight if can_be_notified(settings) or each is not KeyRight.ENDPOINTS]
    shown: dict[str, Any] = {"connection": connection, "rights": needed}
    if connection is None:
        return shown
    name, tone = MODES[connection.mode]
    return shown | {
        "account": name_payment_account(connection),
        "mode": name,
        "tone": tone,
        "notice_url": notice_url(settings, connection.id),
        "fault": recall(connection.last_error) if connection.last_error else None,
    }


def done_of(account: CheckedAccount) -> str:
    return "replaced" if account.is_same else "connected"
