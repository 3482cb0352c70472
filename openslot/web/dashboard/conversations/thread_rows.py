"""Threads as rows: with whom, the newest message, and when it was written."""

from datetime import date, datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.conversations.models import Channel, Conversation, Message, MessageDirection
from openslot.i18n import Text
from openslot.web import words

CHANNELS = {Channel.SMS: "SMS", Channel.WHATSAPP: "WhatsApp"}
NO_TEXT = Text("A message without text")
LONGEST = 200


class ThreadRow(Struct, frozen=True, kw_only=True):
    """One thread in a list."""

    id: UUID
    name: str
    channel: str
    at: Text | date
    newest: str
    is_own: bool


def thread_row(thread: Conversation, user: User, *, now: datetime) -> ThreadRow:
    """Describe a thread as a row."""
    newest: Message | None = thread.messages[-1] if thread.messages else None
    return ThreadRow(
        id=thread.id,
        name=thread.contact.name if thread.contact else thread.contact_phone,
        channel=CHANNELS[thread.channel],
        at=words.moment(thread.last_message_at, user.zone, now=now),
        newest=(newest.content[:LONGEST] if newest else "") or NO_TEXT,
        is_own=newest is not None and newest.direction is MessageDirection.OUTBOUND,
    )
