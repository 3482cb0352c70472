"""The numbers that hosts write from: each host names one for each channel, and alone chooses another."""

from collections.abc import Iterable
from uuid import UUID

from openslot.domains.accounts.events import InvitationAccepted, MemberAdded, MemberRemoved
from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections import store
from openslot.domains.messaging.connections.accounts import tell
from openslot.domains.messaging.connections.events import HostNumberChanged
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection, UsableNumber
from openslot.domains.messaging.errors import MessagingNotConnected
from openslot.platform.core.events import Event
from openslot.platform.core.work import Consequence, Work


async def list_usable(work: Work, host: User) -> list[UsableNumber]:
    """List the numbers that a host can choose: their own first, then those of their organizations."""
    return await store.list_usable(work.db, host.id)


async def list_gone(work: Work, host: User) -> list[ConnectionChannel]:
    """List the channels on which the number that a host has chosen is gone."""
    return await store.list_gone(work.db, host.id)


async def use_number(work: Work, host: User, connection_id: UUID) -> MessagingConnection:
    """Let a host write from a number of their own, or of an organization of theirs, and tell them."""
    usable = await list_usable(work, host)
    found = next((each for each in usable if each.connection.id == connection_id), None)
    if found is None:
        raise MessagingNotConnected
    if not found.is_used:
        await store.use(work.db, host.id, found.connection)
        await _tell(work, found.connection, [host.id], is_gone=False)
    return found.connection


async def follow(work: Work, connection: MessagingConnection) -> None:
    """Name the number of an organization where its members name an earlier one of it; tell all who use it now."""
    if connection.organization_id is not None:
        await store.follow(work.db, connection)
        await _tell(work, connection, await store.list_naming(work.db, connection.id), is_gone=False)


async def tell_disconnected(work: Work, connection: MessagingConnection) -> None:
    """Tell those who write from a number that their organization has disconnected."""
    if connection.organization_id is not None:
        await _tell(work, connection, await store.list_naming(work.db, connection.id), is_gone=True)


async def tell_joined(work: Work, event: Event) -> None:
    """Tell who has joined an organization, and had no number, that they write from one of it now."""
    assert isinstance(event, MemberAdded | InvitationAccepted)  # noqa: S101 - it runs on these events alone
    for each in await store.list_joined(work.db, event.user_id, event.organization_id):
        await _tell(work, each, [event.user_id], is_gone=False)


async def tell_left(work: Work, event: Event) -> None:
    """Tell who has left an organization that its numbers are gone."""
    assert isinstance(event, MemberRemoved)  # noqa: S101 - it runs on this event alone
    for each in await store.list_left(work.db, event.user_id, event.organization_id):
        await _tell(work, each, [event.user_id], is_gone=True)


async def _tell(work: Work, connection: MessagingConnection, hosts: Iterable[UUID], *, is_gone: bool) -> None:
    base_url = work.runtime.settings.public_url
    for host_id in hosts:
        facts = {**tell(connection), "user_id": host_id}
        await work.record(HostNumberChanged(**facts, is_gone=is_gone, base_url=base_url))


NUMBER_CONSEQUENCES = (
    Consequence(name="messaging.tell_joined", on=MemberAdded, run=tell_joined),
    Consequence(name="messaging.tell_accepted", on=InvitationAccepted, run=tell_joined),
    Consequence(name="messaging.tell_left", on=MemberRemoved, run=tell_left),
)
