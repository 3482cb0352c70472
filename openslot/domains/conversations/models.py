"""The nouns of conversations: threads, messages, the channels that carry them, and what is refused."""

import re
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from openslot.domains.contacts.models import NamedContact
from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.core.text import parse_phone
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR
from openslot.platform.i18n import Text


class Channel(StrEnum):
    """The channel of a conversation."""

    SMS = "sms"
    WHATSAPP = "whatsapp"


class MessageDirection(StrEnum):
    """The direction of a message: inbound from the contact, or outbound to them."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


class MessageStatus(StrEnum):
    """How far a message has come."""

    RECEIVED = "received"
    QUEUED = "queued"
    SENDING = "sending"
    """The provider is being asked, or its answer was lost."""
    UNKNOWN = "unknown"
    """The provider may have sent it; it is not sent again."""
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    UNDELIVERED = "undelivered"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def rank(self) -> int:
        """A status with a higher rank replaces one with a lower rank, in whatever order they are reported."""
        return RANKS[self]


RANKS = {status: rank for rank, status in enumerate(MessageStatus)}


class MessageFile(Struct, frozen=True):
    """A file that came with a message; it stays at the provider."""

    position: int
    content_type: str
    """The content type, as the sender says."""


class MessagePurpose(StrEnum):
    """Why a message was sent."""

    REPLY = "reply"
    REMINDER = "reminder"
    FOLLOW_UP = "follow_up"
    ANSWER = "answer"
    """An automatic answer to a message."""
    TEST = "test"


class MessageTemplate(Struct, frozen=True, kw_only=True):
    """A text that the provider keeps and WhatsApp has approved."""

    id: str
    variables: dict[str, str] = {}


class Message(Struct, frozen=True):
    id: UUID
    conversation_id: UUID
    content: str
    """The text; empty if only a picture or a voice message was sent."""

    direction: MessageDirection
    status: MessageStatus
    at: datetime
    """When it was written, by the vendor's clock."""

    connection_id: UUID | None = None
    """The number that it came or went through."""

    purpose: MessagePurpose | None = None
    booking_id: UUID | None = None
    """The booking that it is about."""

    sent_by: UUID | None = None
    error: str | None = None
    """Why it was not delivered: a `RefusalReason`, or another word."""

    valid_until: datetime | None = None
    """When it becomes too late to send it."""

    template: MessageTemplate | None = None
    """The template that is sent instead of the text to recipients who can't be sent a text."""

    files: tuple[MessageFile, ...] = ()


class Conversation(Struct, frozen=True, kw_only=True):
    id: UUID
    owner_id: UUID
    contact_phone: str
    """E.164."""

    channel: Channel
    last_message_at: datetime
    message_count: int
    created_at: datetime
    updated_at: datetime
    read_at: datetime | None = None
    """The time of arrival up to which the owner has read."""
    last_inbound_at: datetime | None = None
    """When the contact's last message arrived here."""
    messages: tuple[Message, ...] = ()
    """The newest, oldest first among them."""

    contact: NamedContact | None = None
    """The contact with this phone number now; if there are several, the one known longest."""

    unread_count: int = 0
    """How many messages the owner has not read, counted up to 100, in a list of threads."""

    version: str = ""
    """Changes with the newest messages and what becomes of them, if they were asked for."""

    @property
    def is_unread(self) -> bool:
        if self.last_inbound_at is None:
            return False
        return self.read_at is None or self.read_at < self.last_inbound_at


class ConversationNotFound(NotFound):
    """No such conversation, or it belongs to somebody else."""

    code = "conversation_not_found"
    message = Text("Conversation not found")


class ChannelNotConnected(Conflict):
    """A reply was sent on a channel that the owner has not connected."""

    code = "channel_not_connected"
    message = Text("You have not connected this channel, so the message was not sent")


MAX_CHARACTERS = 65_536

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
    if len(content) > MAX_CHARACTERS:
        faults["content"] = f"must have at most {MAX_CHARACTERS} characters"
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        faults["at"] = f"must be between {FIRST_YEAR} and {LAST_YEAR}"
    if vendor_id is not None and not (vendor_id.isprintable() and 1 <= len(vendor_id) <= 255):
        faults["vendorId"] = "must be 1 to 255 printable characters"
    return faults


# What a number must be so that there can be a thread with it: short codes and names are no numbers.
E164 = re.compile(r"\+[1-9][0-9]{1,14}", re.ASCII)


def is_number(sender: str) -> bool:
    return E164.fullmatch(sender) is not None


def first_status(direction: MessageDirection) -> MessageStatus:
    """Choose the status of a message if none is given."""
    return MessageStatus.RECEIVED if direction is MessageDirection.INBOUND else MessageStatus.SENT
