"""Contacts who write, hosts who reply, and what became of their messages."""

from datetime import timedelta
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.conversations.models import Channel, MessageDirection
from openslot.domains.conversations.operations import record_message
from openslot.domains.messaging import inbound, sending
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.models import InboundMessage
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.messaging import write_reminder

Numbers = dict[str, MessagingConnection]
PHONE = "+4915112345678"


async def hear(runtime: Runtime, user: User, channel: Channel = Channel.SMS, phone: str = PHONE) -> UUID:
    """Let a contact write, and return the thread."""
    async with runtime.transaction(OPERATOR) as work:
        message = await record_message(
            work,
            owner_id=user.id,
            phone=phone,
            channel=channel,
            direction=MessageDirection.INBOUND,
            content="Hello",
            at=work.now,
        )
        await work.db.execute(
            "update conversations set last_inbound_at = $2 where id = $1", message.conversation_id, work.now
        )
    return message.conversation_id


async def reply(runtime: Runtime, user: User, thread: UUID, text: str = "See you at ten") -> UUID:
    async with runtime.transaction(OPERATOR) as work:
        return (await sending.reply(work, user, thread, text)).id


async def read(runtime: Runtime, message_id: UUID) -> tuple[str, str | None, str | None]:
    row = await runtime.pool.fetchrow("select status, vendor_id, error from messages where id = $1", message_id)
    assert row is not None
    return row["status"], row["vendor_id"], row["error"]


async def pass_time(runtime: Runtime, clock: MovingClock, *, seconds: int) -> None:
    clock.now += timedelta(seconds=seconds)
    await work_off(runtime, clock)


async def remind(runtime: Runtime, number: MessagingConnection, booking: Booking, status: str = "delivered") -> None:
    """Let a reminder of a booking have gone to the contact's phone."""
    ref = BookingRef(booking.id, booking.host_id)
    await write_reminder(runtime, number, ref, phone=PHONE, status=status)


async def tell(
    runtime: Runtime, number: MessagingConnection, body: str, *, id_: str = "SMin1", **more: object
) -> UUID | None:
    """Let a message come in to a number, and return its thread."""
    channel = number.channel.messages
    assert channel is not None
    told = InboundMessage(id=id_, channel=channel, sender=PHONE, recipient=number.number, body=body)
    async with runtime.transaction(SYSTEM) as work:
        kept = await inbound.receive(work, number, replace(told, **more))
    return kept.conversation_id if kept else None


async def status_of(runtime: Runtime, booking: Booking) -> tuple[str, str | None, str | None]:
    row = await runtime.pool.fetchrow(
        "select status, cancelled_by, cancel_reason from bookings where id = $1", booking.id
    )
    assert row is not None
    return row["status"], row["cancelled_by"], row["cancel_reason"]
