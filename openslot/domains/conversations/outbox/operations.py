"""Messages that wait to be sent: they are queued in their thread, taken one after the other, and finished by rank."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.conversations.models import (
    Conversation,
    Message,
    MessageDirection,
    MessagePurpose,
    MessageStatus,
    MessageTemplate,
    clean,
)
from openslot.domains.conversations.outbox import store
from openslot.domains.conversations.outbox.store import InboundText, NamedBooking, UnreportedMessage, WaitingMessage
from openslot.domains.conversations.store import insert_message, keep_thread
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

DAY = timedelta(days=1)


class BookingMessage(Struct, frozen=True, kw_only=True):
    """What a message about a booking has beside its text."""

    id: UUID
    """The message's own: the same is queued once."""
    booking_id: UUID
    valid_until: datetime
    template: MessageTemplate | None = None


class CausedMessages(Struct, frozen=True, kw_only=True):
    """How many messages were sent that nobody has written by hand."""

    of_host: int
    of_number: int
    """The messages from a connected number, for all hosts."""
    to_recipient: int
    """The messages to a recipient, from all hosts."""


async def queue_message(
    work: Work,
    thread: Conversation,
    content: str,
    *,
    connection_id: UUID,
    purpose: MessagePurpose,
    sent_by: UUID | None = None,
    about: BookingMessage | None = None,
) -> Message:
    """Let a message wait in its thread until it is sent; the thread is begun if there is none."""
    thread_id = await keep_thread(
        work.db,
        thread.id,
        owner_id=thread.owner_id,
        phone=thread.contact_phone,
        channel=thread.channel,
        at=work.now,
        now=work.now,
    )
    message = Message(
        about.id if about else new_id(),
        thread_id,
        clean(content),
        MessageDirection.OUTBOUND,
        MessageStatus.QUEUED,
        work.now,
        connection_id=connection_id,
        purpose=purpose,
        booking_id=about.booking_id if about else None,
        sent_by=sent_by,
        valid_until=about.valid_until if about else None,
        template=about.template if about else None,
    )
    await insert_message(work.db, message, vendor_id=None, now=work.now)
    return message


async def find_next_message(work: Work, conversation_id: UUID) -> WaitingMessage | None:
    """Find the oldest message of a thread that was not sent yet, or whose answer was lost."""
    return await store.find_next(work.db, conversation_id)


async def take_message(work: Work, message: WaitingMessage) -> bool:
    """Mark a message that the provider is asked to send; False if it does not wait, or its channel is stopped."""
    return await store.take(work.db, message, now=work.now)


async def put_message_back(work: Work, message: WaitingMessage) -> None:
    """Let a message wait again that the provider has certainly not got."""
    await store.put_back(work.db, message, now=work.now)


async def finish_message(
    work: Work, message_id: UUID, status: MessageStatus, *, vendor_id: str | None = None, error: str | None = None
) -> None:
    """Write what became of a message, unless a report has told more already."""
    await store.finish(work.db, message_id, status, vendor_id=vendor_id, error=error, now=work.now)


async def take_unreported_messages(work: Work, *, delays: Sequence[timedelta], limit: int) -> list[UnreportedMessage]:
    """Name messages whose delivery nobody has reported, each again after each of the delays since it was sent."""
    return await store.take_unreported(work.db, delays=delays, limit=limit, now=work.now)


async def list_vendor_ids(work: Work, conversation_id: UUID, *, since: datetime) -> list[str]:
    """List the provider's ids of the messages of a thread since then."""
    return await store.list_vendor_ids(work.db, conversation_id, since=since)


async def find_inbound_text(work: Work, message_id: UUID) -> InboundText | None:
    """Find what somebody has written, in which thread."""
    return await store.find_inbound(work.db, message_id)


async def list_named_bookings(work: Work, conversation_id: UUID, *, before: datetime) -> list[NamedBooking]:
    """List the bookings that messages to the other side of a thread have named before a time, the newest first."""
    return await store.list_named(work.db, conversation_id, before=before)


async def count_own_answers(work: Work, thread: InboundText) -> int:
    """Count the answers of the service itself in a thread in the last 24 hours; nobody else does until the commit."""
    await store.lock_limits(work.db, thread.owner_id, thread.phone)
    return await store.count_answers(work.db, thread.conversation_id, since=work.now - DAY)


async def count_written_messages(work: Work, owner_id: UUID, phone: str) -> int:
    """Count what a host has written by hand in the last 24 hours; nobody else does until the commit."""
    await store.lock_limits(work.db, owner_id, phone)
    return await store.count_of_host(work.db, owner_id, since=work.now - DAY, is_by_hand=True)


async def count_caused_messages(work: Work, owner_id: UUID, phone: str, *, connection_id: UUID) -> CausedMessages:
    """Count what others have caused in the last 24 hours and nobody has written; nobody else does until the commit."""
    await store.lock_limits(work.db, owner_id, phone, connection_id)
    since = work.now - DAY
    return CausedMessages(
        of_host=await store.count_of_host(work.db, owner_id, since=since, is_by_hand=False),
        of_number=await store.count_of_number(work.db, connection_id, since=since),
        to_recipient=await store.count_of_recipient(work.db, phone, since=since),
    )
