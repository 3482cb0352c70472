"""What comes in from a provider: messages, each kept once in its thread, and what became of those that were sent."""

from uuid import UUID

import structlog

from openslot.domains.conversations.models import Message, is_number
from openslot.domains.conversations.operations import StatusReport, keep_status_report, receive_message
from openslot.domains.messaging import rules, store
from openslot.domains.messaging.connections.accounts import read_credentials
from openslot.domains.messaging.connections.models import MessagingConnection, OptOutSource
from openslot.domains.messaging.connections.store import find_messaging_connection
from openslot.domains.messaging.errors import MessageNoticeRefused
from openslot.domains.messaging.models import (
    InboundMessage,
    MessageCredentials,
    OptOut,
    ProviderName,
    RefusalReason,
    StatusNotice,
)
from openslot.domains.messaging.ports import BadNotice
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Work

ANSWER = "messaging.answer"

log = structlog.get_logger()


async def get_receiver(
    work: Work, connection_id: UUID, provider: ProviderName
) -> tuple[MessagingConnection, MessageCredentials]:
    """Read the live connection that a notice is sent to, and what verifies it."""
    found = await find_messaging_connection(work.db, connection_id)
    if found is None or found.token is None or found.provider is not provider:
        raise MessageNoticeRefused
    return found, read_credentials(work.runtime, found)


def check_receiver(connection: MessagingConnection, message: InboundMessage) -> None:
    """Refuse a message to another number, or on another channel, than the one that is connected."""
    if connection.channel.messages is not message.channel:
        raise BadNotice("the message came on another channel than the one that is connected")
    if message.recipient != connection.number:
        raise BadNotice("the message is to another number than the one that is connected")


async def receive(work: Work, connection: MessagingConnection, message: InboundMessage) -> Message | None:
    """Keep a message in the thread of its host, with its files; None if it is kept already, or nobody can get it."""
    channel = connection.channel.messages
    if channel is None or not is_number(message.sender):
        # A thread is with a number: what short codes and names send is for nobody to answer.
        log.info("a message from no phone number was left out", connection=str(connection.id))
        return None
    host_id = await store.find_host(work.db, connection, phone=message.sender, channel=channel)
    if host_id is None:
        log.warning("a message came for an organization without members", connection=str(connection.id))
        return None
    kept = await receive_message(
        work,
        owner_id=host_id,
        connection_id=connection.id,
        phone=message.sender,
        channel=channel,
        content=message.body,
        at=min(message.at or work.now, work.now),
        vendor_id=message.id,
    )
    if kept is None:
        return None
    if message.media:
        sealed = [(await seal(work, each.ref), each) for each in message.media]
        await store.insert_files(work.db, kept.id, sealed)
    await _keep_opt_out(work, connection, message)
    if rules.read_opt_out(message) is None and rules.find_wish(kept.content, has_files=bool(message.media)):
        await work.plan(ANSWER, str(kept.id), due_at=work.now, payload=kept.id, tenant_id=host_id)
    return kept


async def keep_status(
    work: Work, connection: MessagingConnection, notice: StatusNotice, *, message_id: UUID | None = None
) -> None:
    """Write what became of a message that was sent, by rank and not by arrival; an unknown one is left out."""
    report = StatusReport(
        connection_id=connection.id,
        vendor_id=notice.id,
        message_id=message_id,
        status=rules.read_status(notice.status),
        error=notice.reason or notice.code,
    )
    phone = await keep_status_report(work, report)
    if phone is not None and notice.reason is RefusalReason.OPTED_OUT:
        await keep_refusal(work, connection, phone, vendor_id=notice.id)


async def keep_refusal(work: Work, connection: MessagingConnection, phone: str, *, vendor_id: str | None) -> None:
    """Remember that the provider says that somebody wants no more messages."""
    source = OptOutSource.PROVIDER
    await store.opt_out(work.db, connection, phone, source=source, vendor_id=vendor_id, now=work.now)


async def is_opted_out(work: Work, connection: MessagingConnection, phone: str) -> bool:
    return await store.is_opted_out(work.db, connection, phone)


async def _keep_opt_out(work: Work, connection: MessagingConnection, message: InboundMessage) -> None:
    said = rules.read_opt_out(message)
    if said is OptOut.STOP:
        source = OptOutSource.MESSAGE
        await store.opt_out(work.db, connection, message.sender, source=source, vendor_id=message.id, now=work.now)
    elif said is OptOut.START:
        await store.opt_in(work.db, connection, message.sender, vendor_id=message.id, now=work.now)
