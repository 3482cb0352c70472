"""The nouns of conversations: threads, their messages, and the contact with the number."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import Struct


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
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"


class Message(Struct, frozen=True):
    """One message of a thread."""

    id: UUID
    conversation_id: UUID
    content: str
    """What was written; empty where only a picture or a voice was sent."""

    direction: MessageDirection
    status: MessageStatus
    at: datetime
    """When it was written, by the vendor's clock."""


class NamedContact(Struct, frozen=True):
    """The contact whose phone number it is."""

    id: UUID
    name: str


class Conversation(Struct, frozen=True, kw_only=True):
    """All that was written between an owner and one phone number on one channel."""

    id: UUID
    owner_id: UUID
    contact_phone: str
    """E.164."""

    channel: Channel
    last_message_at: datetime
    message_count: int
    created_at: datetime
    updated_at: datetime
    messages: tuple[Message, ...] = ()
    """The newest, oldest first among them."""

    contact: NamedContact | None = None
    """Found by phone at the moment of reading; of several, the one known longest."""
