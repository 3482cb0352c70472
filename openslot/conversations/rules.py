"""Decisions about messages: what is kept of them, and what is refused."""

import re
from datetime import datetime

from openslot.conversations.models import MessageDirection, MessageStatus
from openslot.core.phones import parse_phone
from openslot.core.zones import FIRST_YEAR, LAST_YEAR

MOST_CHARACTERS = 65_536

_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean(content: str) -> str:
    """Remove characters that are not allowed in a text, so that they do not cause the message to be lost."""
    return _NO_TEXT.sub("", content)


def find_message_faults(*, phone: str, content: str, at: datetime, vendor_id: str | None) -> dict[str, str]:
    """Name everything that keeps a message from being recorded, and what is wrong with it."""
    faults: dict[str, str] = {}
    try:
        parse_phone(phone)
    except ValueError as fault:
        faults["phone"] = str(fault)
    if len(content) > MOST_CHARACTERS:
        faults["content"] = f"must have at most {MOST_CHARACTERS} characters"
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        faults["at"] = f"must be between {FIRST_YEAR} and {LAST_YEAR}"
    if vendor_id is not None and not (vendor_id.isprintable() and 1 <= len(vendor_id) <= 255):
        faults["vendorId"] = "must be 1 to 255 printable characters"
    return faults


def first_status(direction: MessageDirection) -> MessageStatus:
    """Choose the status of a message if none is given."""
    return MessageStatus.RECEIVED if direction is MessageDirection.INBOUND else MessageStatus.SENT
