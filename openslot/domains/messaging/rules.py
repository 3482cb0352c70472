"""Decisions about messages: which words end or begin them, which want to cancel, and how far they have come."""

import re
import unicodedata
from enum import StrEnum

from openslot.domains.conversations.models import MessageStatus
from openslot.domains.messaging.models import DeliveryStatus, InboundMessage, OptOut

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


class Wish(StrEnum):
    """What somebody wants of a meeting."""

    CANCEL = "cancel"
    """Cancel what the last reminder named: the whole message is C."""
    CHANGE = "change"
    """Cancel or reschedule something, in other words."""


# As a phone writes it, also with a Japanese keyboard.
CANCEL_SIGNS = frozenset("Cc\uff23\uff43")
# What may be meant so: with marks around it, or with the Cyrillic letter that looks alike.
SIMILAR_SIGNS = CANCEL_SIGNS | frozenset("\u0421\u0441")
# How words of cancelling and rescheduling begin in English, German, Spanish, French and Portuguese.
CHANGE_WORDS = (
    *("cancel", "reschedul", "postpon", r"move\b"),
    *("absag", "stornier", "verschieb", "umbuch"),
    *("anul", "aplaz", "pospon", "reprogram"),
    *("annul", "décal", "déplac", "repouss", "reporter"),
    *("desmarc", "remarc", "adiar", "reagend"),
)
# Japanese has no spaces between words, and Arabic words have prefixes.
CHANGE_PARTS = ("キャンセル", "取り消", "取消", "変更", "延期", "إلغاء", "الغاء", "تأجيل", "تاجيل", "تغيير الموعد")
_BEGINS = re.compile(rf"\b(?:{'|'.join(CHANGE_WORDS)})")


def find_wish(body: str, *, has_files: bool = False) -> Wish | None:
    """Tell whether a message wants a meeting cancelled or rescheduled; None if it is for the host to read.

    Only C alone cancels. Everything else that may mean it is answered with a link.
    """
    text = body.strip()
    if text in CANCEL_SIGNS and not has_files:
        return Wish.CANCEL
    marks = "".join({each for each in text if unicodedata.category(each)[0] in "PS"})
    if text.strip(f"{marks} ") in SIMILAR_SIGNS:
        return Wish.CHANGE
    folded = unicodedata.normalize("NFKC", text).casefold()
    is_change = _BEGINS.search(folded) or any(part in folded for part in CHANGE_PARTS)
    return Wish.CHANGE if is_change else None


def read_status(status: DeliveryStatus) -> MessageStatus:
    """Map a provider's status to ours; a message that waits there counts as sent."""
    is_waiting_there = status in {DeliveryStatus.QUEUED, DeliveryStatus.SENDING}
    return MessageStatus.SENT if is_waiting_there else MessageStatus(status.value)
