"""The question before an account is replaced: it carries the key, sealed, until it is answered."""

import base64
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from openslot.domains.payments.connections.operations import AccountOwner, AccountReplacement, CheckedAccount
from openslot.domains.payments.models import ConnectionWanted
from openslot.platform.core.errors import Invalid
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

PURPOSE = "payment account in the place of another"
LASTS = timedelta(minutes=15)
PASTE_AGAIN = Text("must be pasted again: the question was open for more than 15 minutes")


class ReplacementQuestion(Struct, frozen=True, kw_only=True):
    """What somebody was told before they answer, and the account that they want to connect."""

    wanted: ConnectionWanted
    replacement: AccountReplacement
    expires_at: datetime


def write_question(work: Work, owner: AccountOwner, account: CheckedAccount, replacement: AccountReplacement) -> str:
    """Seal a question for this owner, so that its answer brings the key along and nobody can read it."""
    question = ReplacementQuestion(wanted=account.wanted, replacement=replacement, expires_at=work.now + LASTS)
    sealed = work.runtime.cipher.seal(PURPOSE, msgspec.json.encode(question), owner=owner.id.bytes)
    return base64.urlsafe_b64encode(sealed).decode()


def read_answer(work: Work, owner: AccountOwner, sealed: str) -> ReplacementQuestion:
    """Open the question that is answered; refuse one that is too old, or not of this owner."""
    try:
        opened = work.runtime.cipher.open(PURPOSE, base64.urlsafe_b64decode(sealed), owner=owner.id.bytes)
        question = msgspec.json.decode(opened, type=ReplacementQuestion)
    except (ValueError, SealBroken):
        raise Invalid(details={"key": PASTE_AGAIN}) from None
    if question.expires_at <= work.now:
        raise Invalid(details={"key": PASTE_AGAIN})
    return question
