"""The verbs of conversations, the only writers of its tables: keep messages, list threads, reply."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.conversations import store
from openslot.domains.conversations.models import (
    MAX_CHARACTERS,
    Channel,
    Conversation,
    ConversationNotFound,
    Message,
    MessageDirection,
    MessageStatus,
    clean,
    find_message_faults,
    first_status,
)
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.text import parse_phone
from openslot.platform.core.work import Work

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


async def receive_message(
    work: Work,
    *,
    owner_id: UUID,
    connection_id: UUID,
    phone: str,
    channel: Channel,
    content: str,
    at: datetime,
    vendor_id: str,
) -> Message | None:
    """Keep a message that came through a number, or None if it is kept already, in whichever thread."""
    if await store.is_known(work.db, connection_id, vendor_id):
        return None
    thread_id = await store.keep_thread(
        work.db, new_id(), owner_id=owner_id, phone=phone, channel=channel, at=at, now=work.now
    )
    message = Message(
        new_id(),
        thread_id,
        clean(content)[:MAX_CHARACTERS],
        MessageDirection.INBOUND,
        MessageStatus.RECEIVED,
        at,
        connection_id,
    )
    is_new = await store.insert_message(work.db, message, vendor_id=vendor_id, now=work.now)
    return message if is_new else None


class StatusReport(Struct, frozen=True, kw_only=True):
    """What a provider says of a message that it was asked to send."""

    connection_id: UUID
    vendor_id: str
    message_id: UUID | None = None
    """Our own id, where the report names it: its answer may not have been read yet."""
    status: MessageStatus
    error: str | None = None


async def keep_status_report(work: Work, report: StatusReport) -> str | None:
    """Write what became of a message, unless more is known already, and return its recipient; None if not found."""
    row = await store.lock_reported(work.db, report.connection_id, report.vendor_id, report.message_id)
    if row is None:
        return None
    phone: str = row["contact_phone"]
    known = MessageStatus(row["status"])
    if report.status.rank > known.rank:
        await store.update_status(
            work.db, row["id"], report.status, vendor_id=report.vendor_id, error=report.error, now=work.now
        )
    elif row["vendor_id"] is None:
        await store.update_status(work.db, row["id"], known, vendor_id=report.vendor_id, error=None, now=work.now)
    return phone


async def mark_thread_read(work: Work, owner: User, thread: Conversation) -> None:
    """Remember that the owner has read a thread as it was when it was looked up."""
    if thread.last_inbound_at is not None:
        await store.mark_read(work.db, owner.id, thread.id, up_to=thread.last_inbound_at)


async def delete_thread(work: Work, owner: User, conversation_id: UUID) -> None:
    """Delete a thread with its messages and files, here and at the provider."""
    if not await store.delete_thread(work.db, owner.id, conversation_id):
        raise ConversationNotFound


async def list_conversations(
    work: Work, owner: User, *, phone: str | None = None, span: Span = ALWAYS, page: int = 1, limit: int = 20
) -> tuple[list[Conversation], int]:
    """Read one page of an owner's threads, those with the newest messages first, and how many there are."""
    return await store.list_conversations(
        work.db, owner.id, phone=phone, span=span, limit=limit, offset=(page - 1) * limit
    )


MESSAGES = 50


class InboxFilter(Struct, frozen=True, kw_only=True):
    search: str = ""
    """Part of the contact's name, address or company, or of the phone number."""
    channel: Channel | None = None
    span: Span = Span()
    """When the last message was written."""


async def list_threads(
    work: Work, owner: User, wanted: InboxFilter, *, page: int = 1, limit: int
) -> tuple[list[Conversation], int]:
    """Read one page of an owner's threads, each with its newest message, and how many there are."""
    return await store.list_threads(
        work.db,
        owner.id,
        search=wanted.search,
        channel=wanted.channel,
        span=wanted.span,
        limit=limit,
        offset=(page - 1) * limit,
    )


async def get_thread_version(work: Work, owner: User, conversation_id: UUID) -> str:
    """Read what changes with the newest messages of a thread, and with what becomes of them."""
    return require(await store.find_version(work.db, owner.id, conversation_id), ConversationNotFound)


async def find_or_draft_thread(work: Work, owner_id: UUID, phone: str, channel: Channel) -> Conversation:
    """Find the thread with a number, or describe the one that its first message begins."""
    found = await store.find_by_phone(work.db, owner_id, phone, channel)
    return found or Conversation(
        id=new_id(),
        owner_id=owner_id,
        contact_phone=phone,
        channel=channel,
        last_message_at=work.now,
        message_count=0,
        created_at=work.now,
        updated_at=work.now,
    )


async def get_thread(work: Work, owner: User, conversation_id: UUID, *, page: int = 1) -> Conversation:
    """Read a thread with one page of its messages: the first page has the newest, each page the oldest first."""
    return require(
        await store.find_thread(work.db, owner.id, conversation_id, limit=MESSAGES, offset=(page - 1) * MESSAGES),
        ConversationNotFound,
    )
