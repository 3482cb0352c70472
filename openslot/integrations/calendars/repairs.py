"""Verbs for a connection that is to be tested, read at once, or opened with a new password."""

import asyncio
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from openslot.core.errors import Invalid
from openslot.core.sealing import seal
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.integrations.calendars import store
from openslot.integrations.calendars.errors import CalendarUnreachable, ConnectionNotFound
from openslot.integrations.calendars.failures import MISSING, SLOW
from openslot.integrations.calendars.models import CalendarConnection, ConnectionKind, ConnectionRef, Secret
from openslot.integrations.calendars.operations import get_connection, plan_sync
from openslot.integrations.calendars.servers import SERVERS

WITHIN = timedelta(seconds=30)
LONGEST_PASSWORD = 500


async def check_connection(work: Work, ref: ConnectionRef) -> int:
    """Sign in and list the calendars now, as the sync does, and return how many there are; nothing is changed.

    The server is contacted here, so the work must begin without a transaction.
    """
    connection, secret = await _open(work, ref)
    return await _list_calendars(work, connection, secret)


async def replace_password(work: Work, ref: ConnectionRef, password: str) -> None:
    """Open a connection with a new password from now on, if the server accepts it, and read it at once.

    The server is contacted before a transaction is opened here, so the work must begin without one.
    """
    connection, secret = await _open(work, ref)
    if connection.kind is not ConnectionKind.CALDAV:
        raise Invalid(details={"password": Text("is not needed for a feed")})
    if not 1 <= len(password) <= LONGEST_PASSWORD:
        raise Invalid(details={"password": Text("must have 1 to %(most)s characters", most=LONGEST_PASSWORD)})
    new = replace(secret, password=password)
    await _list_calendars(work, connection, new)
    async with work.transaction():
        if await store.find_connection(work.db, ref, lock=True) is None:
            raise ConnectionNotFound
        await store.update_secret(work.db, connection.id, await seal(work, msgspec.json.encode(new).decode()))
        await _make_due(work, connection)


async def read_now(work: Work, ref: ConnectionRef) -> None:
    """Let the worker read a connection now, starting with the list of calendars."""
    connection = await store.find_connection(work.db, ref, lock=True)
    if connection is None:
        raise ConnectionNotFound
    await _make_due(work, connection)


async def _make_due(work: Work, connection: CalendarConnection) -> None:
    await store.make_due(work.db, connection.id, now=work.now)
    await plan_sync(work, connection.id)


async def _open(work: Work, ref: ConnectionRef) -> tuple[CalendarConnection, Secret]:
    connection = await get_connection(work, ref)
    sealed = await store.find_secret(work.db, ref)
    if sealed is None:
        raise ConnectionNotFound
    return connection, msgspec.json.decode(work.runtime.secrets.open(sealed), type=Secret)


async def _list_calendars(work: Work, connection: CalendarConnection, secret: Secret) -> int:
    server = SERVERS[connection.kind](work.runtime.outbound.on_behalf_of(connection.owner_id), secret)
    try:
        async with asyncio.timeout(WITHIN.total_seconds()):
            found = {each.url for each in await server.list_calendars()}
    except TimeoutError:
        raise CalendarUnreachable(SLOW) from None
    finally:
        await server.close()
    gone = [each.name for each in connection.calendars if each.url not in found and (each.is_busy or each.receives)]
    if gone:
        raise CalendarUnreachable(MISSING.fill(name=", ".join(gone)))
    return len(found)
