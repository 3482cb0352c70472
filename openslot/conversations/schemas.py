"""The wire shapes of conversations."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.conversations.models import Channel, Conversation, Message, MessageDirection
from openslot.core.moments import Instant, iso


class ShownMessage(Struct, frozen=True, kw_only=True):
    """A message in a conversation."""

    content: Annotated[str, Meta(examples=["Could we meet an hour later?"])]
    direction: Annotated[MessageDirection, Meta(description="inbound: sent by the contact", examples=["inbound"])]
    timestamp: Instant


class ThreadContact(Struct, frozen=True, kw_only=True):
    """The contact with this phone number."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e91"])]
    name: Annotated[str, Meta(examples=["Jonas Weber"])]


class ShownConversation(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation with one phone number."""

    id: Annotated[str, Meta(examples=["01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e92"])]
    contact_phone: Annotated[str, Meta(description="E.164", examples=["+493012345678"])]
    channel: Annotated[Channel, Meta(examples=["sms"])]
    messages: Annotated[list[ShownMessage], Meta(description="The latest 50 messages, oldest first", max_length=50)]
    message_count: Annotated[int, Meta(description="Total number of messages", examples=[1])]
    contact: Annotated[ThreadContact | None, Meta(description="The contact with this phone number, if there is one")]
    created_at: Instant
    updated_at: Instant


def show_conversation(conversation: Conversation) -> ShownConversation:
    """Write a thread as the wire shows it."""
    known = conversation.contact
    return ShownConversation(
        id=str(conversation.id),
        contact_phone=conversation.contact_phone,
        channel=conversation.channel,
        messages=[_show_message(each) for each in conversation.messages],
        message_count=conversation.message_count,
        contact=ThreadContact(id=str(known.id), name=known.name) if known else None,
        created_at=iso(conversation.created_at),
        updated_at=iso(conversation.updated_at),
    )


def _show_message(message: Message) -> ShownMessage:
    return ShownMessage(content=message.content, direction=message.direction, timestamp=iso(message.at))
