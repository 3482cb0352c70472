"""Why a step was left out, or waits, in the reader's words."""

from openslot.domains.conversations.models import MessageStatus
from openslot.domains.messaging.words import REFUSALS
from openslot.domains.payments.reactions import BY_POLICY
from openslot.domains.payments.words import describe_policy
from openslot.platform.i18n import CodedReason, Text, recall

# A message keeps a word for its reason, and an effect a code.
OF_MESSAGES = {**REFUSALS, MessageStatus.UNKNOWN: Text("may not have been sent")}


def find_reason(error: str) -> Text | None:
    """Find the text for what an effect keeps as its reason; None if that is what another server has said."""
    reason = recall(error)
    if isinstance(reason, CodedReason) and reason.code == BY_POLICY.code:
        return BY_POLICY.fill(policy=describe_policy(str(reason.values["policy"])))
    return reason if isinstance(reason, Text) else OF_MESSAGES.get(error)
