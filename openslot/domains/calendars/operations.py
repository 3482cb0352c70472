"""The verbs of calendar connections, the only writers of their tables beside the sync."""

import asyncio
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability.operations import close_sources_after, drop_busy_sources, keep_busy_source
from openslot.domains.calendars import event_store, store
from openslot.domains.calendars.errors import (
    DISCONNECTED,
    MISSING,
    SLOW,
    CalendarUnreachable,
    ConnectionNotFound,
    NoSuchCalendar,
    OtherAccount,
    ReadOnlyCalendar,
    TooManyConnections,
)
from openslot.domains.calendars.events import CalendarConnected, CalendarDisconnected
from openslot.domains.calendars.models import (
    CalDavWanted,
    Calendar,
    CalendarConnection,
    ConnectionChanges,
    ConnectionKind,
    ConnectionRef,
    Credentials,
    IcsWanted,
)
from openslot.domains.calendars.ports import CalendarServer, RemoteCalendar
from openslot.domains.calendars.rules import (
    DEFAULT_TRUST_HOURS,
    MAX_CONNECTIONS,
    closes_at,
    find_named,
    read_address,
    read_policy,
    read_url,
)
from openslot.domains.calendars.servers import CalendarServers, can_invite
from openslot.domains.oauth.models import Consent
from openslot.domains.oauth.operations import drop_grant, keep_grant, renew_grant
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id
from openslot.platform.core.sealing import seal
from openslot.platform.core.text import is_line
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import Text

READ = "calendars.read"
# Each request has a limit of its own, but a server can cause many.
CONNECT_WITHIN = timedelta(seconds=60)


async def connect_calendar(work: Work, owner: User, wanted: CalDavWanted | IcsWanted | Consent) -> CalendarConnection:
    """Connect a calendar: sign in, find what is there, and keep how it is reached; what it holds is read by the sync.

    The server is contacted before a transaction is opened here, so the work must begin without one.
    """
    ref = ConnectionRef(new_id(), owner.id)
    try:
        async with asyncio.timeout(CONNECT_WITHIN.total_seconds()):
            kind, label, credentials = await _find_account(work.runtime, owner, wanted)
            server = (
                work.runtime.ports.get(CalendarServers).open_with(work.runtime, ref, wanted)
                if isinstance(wanted, Consent)
                else work.runtime.ports.get(CalendarServers).open(work.runtime, kind, ref, credentials)
            )
            try:
                found, addresses = await server.list_calendars(), await server.list_addresses()
            finally:
                await server.close()
    except TimeoutError:
        raise CalendarUnreachable(SLOW) from None
    connection = CalendarConnection(
        id=ref.id,
        owner_id=owner.id,
        kind=kind,
        server=_host_of(credentials.url),
        label=label or next(iter(sorted(addresses)), kind.capitalize()),
        addresses=tuple(sorted(addresses)),
        trust_hours=DEFAULT_TRUST_HOURS,
        next_sync_at=work.now,
        created_at=work.now,
    )
    async with work.transaction():
        sealed = await _seal(work, credentials)
        if not await store.insert_connection(work.db, connection, sealed, max_=MAX_CONNECTIONS):
            raise TooManyConnections(MAX_CONNECTIONS)
        if isinstance(wanted, Consent):
            await keep_grant(work, owner, connection.id, wanted)
        calendars = await keep_calendars(work, connection, found)
        await _receive_by_default(work, owner, calendars)
        await plan_sync(work, connection.id)
        await work.record(CalendarConnected(**connection.identity))
    return await get_calendar_connection(work, ref)


async def plan_sync(work: Work, connection_id: UUID) -> None:
    """Plan the next reading of a connection, with its owner and its server as destination."""
    connection = await store.find_connection(work.db, ConnectionRef(connection_id))
    if connection is not None:
        await work.plan(
            READ,
            str(connection_id),
            due_at=connection.next_sync_at,
            payload=str(connection_id),
            tenant_id=connection.owner_id,
            target=connection.server,
        )


async def keep_calendars(work: Work, connection: CalendarConnection, found: list[RemoteCalendar]) -> list[Calendar]:
    """Write the calendars that a server has, each as a source of busy spans."""
    calendars = [
        await store.upsert_calendar(work.db, new_id(), connection.id, connection.owner_id, each) for each in found
    ]
    for calendar in calendars:
        if calendar.is_busy:
            await keep_busy_source(work, calendar.id, host_id=connection.owner_id, name=calendar.name)
    await close_sources_after(
        work,
        [calendar.id for calendar in calendars if calendar.is_busy],
        closes_at(connection, synced_at=connection.synced_at, failed_at=None),
    )
    return calendars


async def get_calendar_connection(work: Work, ref: ConnectionRef, *, lock: bool = False) -> CalendarConnection:
    """Read a connection with its calendars; with a lock, others can't change it until the commit."""
    connection = await store.find_connection(work.db, ref, lock=lock)
    if connection is None:
        raise ConnectionNotFound
    return connection


async def list_calendar_connections(work: Work, owner: User | None) -> list[CalendarConnection]:
    """Read an owner's connections, or everyone's, oldest first."""
    return await store.list_connections(work.db, owner.id if owner else None)


async def list_next_connections(work: Work, *, limit: int) -> list[ConnectionRef]:
    """List the connections that are read next, whoever's they are."""
    return await store.list_next(work.db, limit=limit)


async def change_calendar_connection(work: Work, ref: ConnectionRef, changes: ConnectionChanges) -> CalendarConnection:
    """Change which calendars count as busy, which one receives bookings, who invites, and what if it can't be read."""
    connection = await get_calendar_connection(work, ref, lock=True)
    if changes.busy is not None:
        await _set_busy(work, connection, changes.busy)
    if changes.write_to is not None:
        await _set_receiving(work, connection, changes.write_to)
    if changes.when_unreadable is not None:
        await store.update_trust(work.db, connection.id, read_policy(changes.when_unreadable))
    if changes.invites is not None:
        if changes.invites and not can_invite(work.runtime, connection):
            raise Invalid(details={"invites": Text("can't be chosen, because this kind of calendar does not invite")})
        await store.update_invites(work.db, connection.id, invites=changes.invites)
    changed = await get_calendar_connection(work, ref)
    closing = closes_at(changed, synced_at=changed.synced_at, failed_at=connection.failing_since)
    await close_sources_after(work, changed.busy_ids, closing)
    return changed


async def disconnect(work: Work, ref: ConnectionRef) -> None:
    """Delete a connection and its busy spans; events that were written into its calendars stay there."""
    connection = await get_calendar_connection(work, ref, lock=True)
    await drop_busy_sources(work, [calendar.id for calendar in connection.calendars])
    await store.delete_connection(work.db, connection.id)
    await drop_grant(work, connection.id)
    await work.drop_planned(READ, str(connection.id), reason=DISCONNECTED)
    await work.record(CalendarDisconnected(**connection.identity))


async def make_connections_due(work: Work, owner: User | None) -> list[CalendarConnection]:
    """Make connections due at once, starting with the list of calendars, even if they are being read now."""
    found = await list_calendar_connections(work, owner)
    for connection in found:
        await store.make_due(work.db, connection.id, now=work.now)
    return found


async def _find_account(
    runtime: Runtime, owner: User, wanted: CalDavWanted | IcsWanted | Consent
) -> tuple[ConnectionKind, str, Credentials]:
    """Return the kind of a connection, its label unless its calendars say it, and how it is opened."""
    outbound = runtime.outbound.on_behalf_of(owner.id)
    if isinstance(wanted, Consent):
        kind = ConnectionKind(wanted.vendor)
        return kind, "", Credentials(url=runtime.ports.get(CalendarServers).find_url(runtime, kind))
    if isinstance(wanted, IcsWanted):
        url = read_url(wanted.url)
        outbound.check_url(url)
        return ConnectionKind.ICS, f"Feed of {_host_of(url)}", Credentials(url=url)
    faults = {} if is_line(wanted.username) and wanted.username else {"username": "must be one line"}
    if not wanted.password:
        faults["password"] = "must not be empty"  # noqa: S105 - what is said of it
    if faults:
        raise Invalid(details=faults)
    url = read_address(wanted.address.strip())
    outbound.check_url(url)
    typed = Credentials(url=url, username=wanted.username, password=wanted.password)
    credentials = await runtime.ports.get(CalendarServers).discover(runtime, owner.id, typed)
    return ConnectionKind.CALDAV, f"{wanted.username} at {_host_of(credentials.url)}", credentials


async def _seal(work: Work, credentials: Credentials) -> bytes:
    return await seal(work, msgspec.json.encode(credentials).decode())


async def _receive_by_default(work: Work, owner: User, calendars: list[Calendar]) -> None:
    writable = [calendar for calendar in calendars if calendar.can_write]
    if writable and not await store.has_receiving(work.db, owner.id):
        await store.update_receiving(work.db, owner.id, writable[0].id)


async def _set_busy(work: Work, connection: CalendarConnection, names: tuple[str, ...]) -> None:
    chosen: list[UUID] = []
    for name in names:
        found = find_named(connection.calendars, name)
        if not found:
            raise NoSuchCalendar("busy", name, [each.name for each in connection.calendars])
        chosen += [each.id for each in found]
    await store.update_busy(work.db, connection.id, chosen)
    for calendar in connection.calendars:
        if calendar.id in chosen and not calendar.is_busy:
            # Until now the calendar was read only for the bookings in it.
            await event_store.delete_all_objects(work.db, calendar.id)
            await keep_busy_source(work, calendar.id, host_id=connection.owner_id, name=calendar.name)
    await drop_busy_sources(work, [each.id for each in connection.calendars if each.id not in chosen])
    await _make_due(work, connection)


async def _set_receiving(work: Work, connection: CalendarConnection, name: str) -> None:
    if not name:
        await store.update_receiving(work.db, connection.owner_id, None)
        return
    found = find_named(connection.calendars, name)
    if not found:
        raise NoSuchCalendar("writeTo", name, [each.name for each in connection.calendars])
    if not found[0].can_write:
        raise ReadOnlyCalendar(found[0].name)
    await store.update_receiving(work.db, connection.owner_id, found[0].id)


def _host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


WITHIN = timedelta(seconds=30)
LONGEST_PASSWORD = 500


async def check_calendar_connection(work: Work, ref: ConnectionRef) -> int:
    """Sign in and list the calendars now, as the sync does, and return how many there are; nothing is changed.

    The server is contacted here, so the work must begin without a transaction.
    """
    connection, secret = await _open(work, ref)
    return await _list_calendars(connection, _open_by(work, connection, secret))


async def replace_calendar_password(work: Work, ref: ConnectionRef, password: str) -> None:
    """Open a connection with a new password from now on, if the server accepts it, and read it at once.

    The server is contacted before a transaction is opened here, so the work must begin without one.
    """
    connection, secret = await _open(work, ref)
    if connection.kind is not ConnectionKind.CALDAV:
        raise Invalid(details={"password": Text("is not needed for a feed")})
    if not 1 <= len(password) <= LONGEST_PASSWORD:
        raise Invalid(details={"password": Text("must have 1 to %(max)s characters", max=LONGEST_PASSWORD)})
    new = replace(secret, password=password)
    await _list_calendars(connection, _open_by(work, connection, new))
    async with work.transaction():
        await get_calendar_connection(work, ref, lock=True)
        await store.update_secret(work.db, connection.id, await _seal(work, new))
        await _make_due(work, connection)


async def renew_calendar_consent(work: Work, ref: ConnectionRef, consent: Consent) -> None:
    """Open a connection by a new consent from now on, if it is of the same account, and read it at once.

    The server is contacted before a transaction is opened here, so the work must begin without one.
    """
    connection = await get_calendar_connection(work, ref)
    if connection.kind.value != consent.vendor.value:
        raise ConnectionNotFound
    server = work.runtime.ports.get(CalendarServers).open_with(work.runtime, ref, consent)
    # The account is named by its addresses.
    addresses = frozenset(connection.addresses)
    await _list_calendars(connection, server, addresses=addresses)
    async with work.transaction():
        await get_calendar_connection(work, ref, lock=True)
        await renew_grant(work, connection.id, consent)
        await _make_due(work, connection)


async def read_connection_now(work: Work, ref: ConnectionRef) -> None:
    """Let the worker read a connection now, starting with the list of calendars."""
    await _make_due(work, await get_calendar_connection(work, ref, lock=True))


async def _make_due(work: Work, connection: CalendarConnection) -> None:
    await store.make_due(work.db, connection.id, now=work.now)
    await plan_sync(work, connection.id)


async def _open(work: Work, ref: ConnectionRef) -> tuple[CalendarConnection, Credentials]:
    connection = await get_calendar_connection(work, ref)
    sealed = await store.find_secret(work.db, ref)
    if sealed is None:
        raise ConnectionNotFound
    return connection, msgspec.json.decode(work.runtime.secrets.open(sealed), type=Credentials)


def _open_by(work: Work, connection: CalendarConnection, secret: Credentials) -> CalendarServer:
    ref = ConnectionRef(connection.id, connection.owner_id)
    return work.runtime.ports.get(CalendarServers).open(work.runtime, connection.kind, ref, secret)


async def _list_calendars(
    connection: CalendarConnection, server: CalendarServer, *, addresses: frozenset[str] = frozenset()
) -> int:
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            found = {each.ref for each in await server.list_calendars()}
            if addresses and addresses.isdisjoint(await server.list_addresses()):
                raise OtherAccount
    except TimeoutError:
        raise CalendarUnreachable(SLOW) from None
    finally:
        await server.close()
    gone = [each.name for each in connection.calendars if each.url not in found and (each.is_busy or each.receives)]
    if gone:
        raise CalendarUnreachable(MISSING.fill(name=", ".join(gone)))
    return len(found)
