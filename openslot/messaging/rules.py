"""Decisions about messages: which words end or begin them, and how far they have come."""

from openslot.conversations.models import MessageStatus
from openslot.messaging.models import DeliveryStatus, InboundMessage, OptOut

# The words that carriers and Twilio know. CANCEL is one of them, so it never cancels a meeting.
STOP_WORDS = frozenset({"STOP", "UNSUBSCRIBE", "END", "QUIT", "STOPALL", "REVOKE", "OPTOUT", "CANCEL"})
START_WORDS = frozenset({"START", "YES", "UNSTOP"})


def read_opt_out(message: InboundMessage) -> OptOut | None:
    """Tell whether a message ends or begins messages: as the provider understands it, or by the whole word alone."""
    if message.opt_out is not None:
        return message.opt_out
    word = message.body.strip().upper()
    if word in STOP_WORDS:
        return OptOut.STOP
    return OptOut.START if word in START_WORDS else None


def read_status(status: DeliveryStatus) -> MessageStatus:
    """Say how far a message has come that the provider has: while it waits there, it is sent as far as we can tell."""
    is_waiting_there = status in {DeliveryStatus.QUEUED, DeliveryStatus.SENDING}
    return MessageStatus.SENT if is_waiting_there else MessageStatus(status.value)
