"""Connections to a message provider: how they are found and opened, and what can be wrong with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from openslot.domains.accounts.members.store import list_administrators
from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections import store
from openslot.domains.messaging.connections.events import MessagingBroken
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.domains.messaging.models import MessageCredentials, ProviderName
from openslot.domains.messaging.ports import MessageAccount, MessageFault, MessageProviders, TokenRefused
from openslot.platform.core import failing
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import OutboundRefused, check_url
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import CodedReason, keep

REFUSED = CodedReason("messaging.refused", "The provider refuses the account or its token")
UNREACHABLE = CodedReason("messaging.unreachable", "The provider can't be reached")


async def find_host_number(work: Work, host: User, channel: ConnectionChannel) -> MessagingConnection | None:
    """Find the number that a host uses on a channel; None if it is gone, or not theirs to use any more."""
    return await store.find_messaging_connection_for(work.db, host.id, channel)


async def list_for_host(work: Work, host: User) -> list[MessagingConnection]:
    """List the numbers that a host uses, one for each channel."""
    return await store.list_for_host(work.db, host.id)


@asynccontextmanager
async def opened_message_account(runtime: Runtime, connection: MessagingConnection) -> AsyncIterator[MessageAccount]:
    """Open the account of a connection, with the guarded client on behalf of its owner; no transaction may be open."""
    credentials = read_credentials(runtime, connection)
    async with opened_by(runtime, connection.owner_id, connection.provider, credentials) as account:
        yield account


@asynccontextmanager
async def opened_by(
    runtime: Runtime, owner_id: UUID, provider: ProviderName, credentials: MessageCredentials
) -> AsyncIterator[MessageAccount]:
    providers = runtime.ports.get(MessageProviders)
    account = providers.get(provider).open(runtime.outbound.on_behalf_of(owner_id), credentials)
    try:
        yield account
    finally:
        await account.close()


def read_credentials(runtime: Runtime, connection: MessagingConnection) -> MessageCredentials:
    """Read what opens the account of a live connection, and what verifies its notices."""
    if connection.token is None:
        raise MessagingNotConnected
    return MessageCredentials(
        account=connection.account,
        token=runtime.secrets.open(connection.token),
        second_token=runtime.secrets.open(connection.second_token) if connection.second_token else None,
    )


def notice_urls(settings: Settings, connection: MessagingConnection) -> dict[str, str]:
    """Write where the provider sends its notices, by what they are about."""
    notices, is_voice = f"{settings.public_url}/api/notices", connection.channel is ConnectionChannel.VOICE
    if connection.provider is ProviderName.GATEWAY:
        return {"all": f"{notices}/{'calls' if is_voice else 'gateway'}/{connection.id}"}
    base = f"{notices}/{connection.provider}/{connection.id}"
    if is_voice:
        return {"calls": f"{base}/calls"}
    return {"messages": f"{base}/messages", "status": f"{base}/status"}


def message_status_url(settings: Settings, connection: MessagingConnection, message_id: UUID) -> str | None:
    """Write where the provider reports what becomes of a message; it names the message, whose answer may be lost."""
    if connection.provider is ProviderName.GATEWAY or not can_be_notified(settings):
        return None
    return f"{notice_urls(settings, connection)['status']}?message={message_id}"


def can_be_notified(settings: Settings) -> bool:
    """Answer whether the provider can reach this installation: only by https, at an address that is public."""
    try:
        check_url(settings.public_url)
    except OutboundRefused:
        return False
    return settings.public_url.startswith("https://")


def describe_fault(fault: MessageFault) -> CodedReason:
    """Say why a connection can't be used, in words that can be kept."""
    return REFUSED if isinstance(fault, TokenRefused) else UNREACHABLE


async def keep_number_failure(work: Work, connection: MessagingConnection, fault: MessageFault) -> None:
    """Write why a connection can't be used, and tell its owner once; opens a transaction of its own."""
    reason, needs_owner = keep(describe_fault(fault)), isinstance(fault, TokenRefused)
    async with work.runtime.transaction(SYSTEM) as inside:
        since = await failing.keep_failure(
            inside.db, "messaging_connections", connection, reason, needs_owner=needs_owner, now=work.now
        )
        if since is not None:
            await _tell_owner(inside, connection, reason, since=since)


async def _tell_owner(work: Work, connection: MessagingConnection, reason: str, *, since: datetime) -> None:
    if connection.organization_id is None:
        people = [connection.user_id]
    else:
        people = [*await list_administrators(work.db, connection.organization_id)]
    for person_id in people:
        facts = {**tell(connection), "user_id": person_id}
        await work.record(
            MessagingBroken(**facts, reason=reason, since=since, base_url=work.runtime.settings.public_url)
        )


def tell(connection: MessagingConnection) -> dict[str, Any]:
    """Say what every event tells of a connection."""
    names = ("user_id", "organization_id", "provider", "channel", "number")
    return {name: getattr(connection, name) for name in names} | {"connection_id": connection.id}
