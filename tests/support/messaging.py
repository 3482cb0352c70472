"""Connected numbers, and notices as Twilio signs and sends them."""

import base64
import hashlib
import hmac
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx2

from openslot.domains.bookings.models import BookingRef
from openslot.domains.conversations import operations as conversations
from openslot.domains.conversations.models import Channel, MessagePurpose
from openslot.domains.conversations.outbox import operations as outbox
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.countries import EVERY
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime

ACCOUNT = "AC" + "0" * 32
TOKEN = "0123456789abcdef0123456789abcdef"
NUMBER = "+493022222222"
PHONE = "+493033333333"


async def insert_number(
    runtime: Runtime,
    *,
    user_id: UUID | None = None,
    organization_id: UUID | None = None,
    channel: ConnectionChannel = ConnectionChannel.SMS,
    provider: ProviderName = ProviderName.TWILIO,
    account: str = ACCOUNT,
    token: str = TOKEN,
    number: str = NUMBER,
    countries: tuple[str, ...] = (EVERY,),
) -> MessagingConnection:
    """Connect a number without a look at it."""
    connection = MessagingConnection(
        id=new_id(),
        user_id=user_id,
        organization_id=organization_id,
        provider=provider,
        channel=channel,
        number=number,
        account=account,
        token=runtime.secrets.seal(token),
        countries=countries,
        connected_at=runtime.clock(),
    )
    await connection_store.insert(runtime.pool, connection)
    return connection


async def write_reminder(
    runtime: Runtime, number: MessagingConnection, booking: BookingRef, *, phone: str = PHONE, status: str = "delivered"
) -> UUID:
    """Let a reminder of a booking have gone to a phone."""
    assert booking.host_id is not None
    async with runtime.transaction(SYSTEM) as work:
        channel = Channel(number.channel.value)
        thread = await conversations.find_or_draft_thread(work, booking.host_id, phone, channel)
        message = await outbox.queue_message(
            work,
            thread,
            "Reminder: a meeting",
            connection_id=number.id,
            purpose=MessagePurpose.REMINDER,
            about=outbox.BookingMessage(id=new_id(), booking_id=booking.id, valid_until=work.now + timedelta(days=1)),
        )
        await work.db.execute(
            "update messages set status = $2, asked_at = $3, vendor_id = $4 where id = $1",
            message.id,
            status,
            None if status == "queued" else work.now,
            None if status == "queued" else f"SM{message.id.hex}",
        )
    return message.conversation_id


def sid(number: int, prefix: str = "SM") -> str:
    return f"{prefix}{number:032x}"


def message_form(number: int = 1, body: str = "Hello", *, sender: str = PHONE, **more: str) -> dict[str, str]:
    return {
        "MessageSid": sid(number),
        "AccountSid": ACCOUNT,
        "From": sender,
        "To": NUMBER,
        "Body": body,
        "NumMedia": "0",
        **more,
    }


def status_form(number: int, status: str, **more: str) -> dict[str, str]:
    return {"MessageSid": sid(number), "AccountSid": ACCOUNT, "MessageStatus": status, **more}


def sign(url: str, form: dict[str, str], *, token: str = TOKEN) -> str:
    text = url + "".join(name + form[name] for name in sorted(form))
    return base64.b64encode(hmac.digest(token.encode(), text.encode(), hashlib.sha1)).decode()


async def notify(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    connection: MessagingConnection,
    form: dict[str, str],
    *,
    about: str = "messages",
    query: str = "",
    token: str = TOKEN,
    **headers: Any,
) -> httpx2.Response:
    """Post a notice as Twilio does, signed for the public address."""
    path = f"/api/notices/twilio/{connection.id}/{about}{query}"
    signature = sign(f"{runtime.settings.public_url}{path}", form, token=token)
    sent = {"content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature, **headers}
    return await client.post(path, content=urlencode(form).encode(), headers=sent)
