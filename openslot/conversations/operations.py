"""The verbs of conversations, the only writers of its tables."""

from datetime import datetime
from uuid import UUID

from openslot.accounts.models import User
from openslot.conversations import store
from openslot.conversations.models import Channel, Conversation, Message, MessageDirection, MessageStatus
from openslot.conversations.rules import clean, find_message_faults, first_status
from openslot.core.errors import Invalid
from openslot.core.ids import new_id
from openslot.core.moments import Span
from openslot.core.phones import parse_phone
from openslot.core.work import Work

ALWAYS = Span()


async def record_message(
    work: Work,
    *,
    owner_id: UUID,
    phone: str,
    channel: Channel,
    direction: MessageDirection,
    content: str,
    at: datetime,
    vendor_id: str | None = None,
    status: MessageStatus | None = None,
) -> Message:
    """Keep a message in its thread, only once however often the vendor reports it."""
    faults = find_message_faults(phone=phone, content=content, at=at, vendor_id=vendor_id)
    if faults:
        raise Invalid(details=faults)
    thread_id = await store.keep_thread(
        work.db, new_id(), owner_id=owner_id, phone=parse_phone(phone), channel=channel, at=at, now=work.now
    )
    message = Message(new_id(), thread_id, clean(content), direction, status or first_status(direction), at)
    is_new = await store.insert_message(work.db, message, vendor_id=vendor_id, now=work.now)
    if is_new or vendor_id is None:
        return message
    return await store.get_message_of_vendor(work.db, thread_id, vendor_id)


async def list_conversations(
    work: Work, owner: User, *, phone: str | None = None, span: Span = ALWAYS, page: int = 1, limit: int = 20
) -> tuple[list[Conversation], int]:
    """Read one page of an owner's threads, those with the newest messages first, and how many there are."""
    return await store.list_conversations(
        work.db, owner.id, phone=phone, span=span, limit=limit, offset=(page - 1) * limit
    )
