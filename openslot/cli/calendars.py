"""calendar …: calendars that say when their owner is busy, and that receive bookings."""

import asyncio
import sys
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import typer
from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.actor import OPERATOR
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Runtime, Work
from openslot.integrations.calendars import booking_events
from openslot.integrations.calendars import host_changes as missing_events
from openslot.integrations.calendars import operations as calendars
from openslot.integrations.calendars.host_changes import Decision
from openslot.integrations.calendars.models import (
    CalDavWanted,
    CalendarConnection,
    ConnectionChanges,
    ConnectionKind,
    ConnectionRef,
    IcsWanted,
    MissingEvent,
)
from openslot.integrations.calendars.rules import LEASE
from openslot.integrations.calendars.sync import sync_and_wait
from openslot.processes.runtimes import with_runtime, with_work

AT_ONCE = 10
# A reading ends, or its lease does.
PATIENCE = LEASE

app = typer.Typer(help="Calendars.", no_args_is_help=True, add_completion=False)

ConnectionId = Annotated[str, typer.Argument(help="Id of the connection, from `calendar list`")]
Whose = Annotated[str, typer.Option("--user", help="User's email address")]
AnyoneIfNone = Annotated[str | None, typer.Option("--user", help="Only this user's, by email address")]


class ShownCalendar(Struct, frozen=True, kw_only=True, rename="camel"):
    """One calendar of a connection as scripts see it."""

    id: UUID
    name: str
    busy: bool
    receives_bookings: bool
    writable: bool
    unread_events: int


class ShownConnection(Struct, frozen=True, kw_only=True, rename="camel"):
    """A connection as scripts see it; it contains no secrets."""

    id: UUID
    owner_id: UUID
    kind: ConnectionKind
    label: str
    state: Literal["new", "ok", "failing"]
    synced_at: datetime | None
    failing_since: datetime | None
    last_error: str | None
    next_sync_at: datetime
    when_unreadable: str
    calendars: list[ShownCalendar]


class ShownMissing(Struct, frozen=True, kw_only=True, rename="camel"):
    """A booking whose event has disappeared as scripts see it."""

    booking_id: UUID
    calendar: str
    start_time: datetime
    invitee_name: str
    missing_since: datetime


@app.command("connect")
def connect_calendar(
    *,
    user: Whose,
    caldav: Annotated[str | None, typer.Option(help="A CalDAV server: a URL, a host name or an email address")] = None,
    username: Annotated[str | None, typer.Option(help="The user name at the CalDAV server")] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input")
    ] = False,
    ics: Annotated[str | None, typer.Option(help="The URL of an ICS feed, which is only read")] = None,
    as_json: AsJson = False,
) -> None:
    """Connect a calendar, and wait until it was read for the first time."""
    wanted = _read_wanted(caldav, username, ics, password_stdin=password_stdin)

    async def do(runtime: Runtime) -> tuple[CalendarConnection, bool]:
        work = runtime.work(OPERATOR)
        connection = await calendars.connect(work, await accounts.get_user_by_email(work, user), wanted)
        was_read = await sync_and_wait(runtime, connection.id, since=connection.created_at, patience=PATIENCE)
        return await calendars.get_connection(work, ConnectionRef(connection.id)), was_read

    connection, was_read = with_runtime(do)
    _show(connection, as_json=as_json)
    _check_read([] if was_read else [connection])


@app.command("list")
def list_connections(user: AnyoneIfNone = None, as_json: AsJson = False) -> None:
    """List connections with their calendars and when each was last read."""

    async def do(work: Work) -> list[CalendarConnection]:
        owner = await accounts.get_user_by_email(work, user) if user else None
        return await calendars.list_connections(work, owner)

    _print(with_work(do), as_json=as_json)


@app.command("set")
def set_connection(
    connection_id: ConnectionId,
    *,
    busy: Annotated[
        list[str] | None,
        typer.Option("--busy", help="A calendar to treat as busy (can be repeated); all others count as free"),
    ] = None,
    none_busy: Annotated[bool, typer.Option("--none-busy", help="Treat none of its calendars as busy")] = False,
    write_to: Annotated[
        str | None, typer.Option("--write-to", help="The calendar that receives bookings; empty: none")
    ] = None,
    when_unreadable: Annotated[
        str | None,
        typer.Option("--when-unreadable", help="trust:HOURS to use the last known times for that many hours, or close"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose which calendars count as busy, which one receives bookings, and what happens when it can't be read."""
    if busy and none_busy:
        raise Invalid("Specify --busy or --none-busy")
    chosen = tuple(busy) if busy else () if none_busy else None
    changes = ConnectionChanges(busy=chosen, write_to=write_to, when_unreadable=when_unreadable)
    ref = ConnectionRef(parse_id(connection_id))
    _show(with_work(lambda work: calendars.change_connection(work, ref, changes)), as_json=as_json)


@app.command("sync")
def sync_connections(user: AnyoneIfNone = None, as_json: AsJson = False) -> None:
    """Read connections now, and wait until it is done."""

    async def do(runtime: Runtime) -> tuple[list[CalendarConnection], list[CalendarConnection]]:
        work = runtime.work(OPERATOR)
        owner = await accounts.get_user_by_email(work, user) if user else None
        unread = await _read_all(runtime, await calendars.make_due(work, owner), since=work.now)
        return await calendars.list_connections(work, owner), unread

    found, unread = with_runtime(do)
    _print(found, as_json=as_json)
    _check_read(unread)


@app.command("disconnect")
def disconnect_calendar(connection_id: ConnectionId, as_json: AsJson = False) -> None:
    """Delete a connection; what was written into its calendars stays there."""
    with_work(lambda work: calendars.disconnect(work, ConnectionRef(parse_id(connection_id))))
    if as_json:
        print_json({"disconnected": connection_id})
        return
    console.print("The calendar is disconnected.")


@app.command("missing")
def list_missing(user: Whose, as_json: AsJson = False) -> None:
    """List bookings whose events disappeared from the calendar together, so that nothing was cancelled."""

    async def do(work: Work) -> list[MissingEvent]:
        return await missing_events.list_missing(work, await accounts.get_user_by_email(work, user))

    found = [
        ShownMissing(
            booking_id=each.booking_id,
            calendar=each.calendar_name,
            start_time=each.starts_at,
            invitee_name=each.invitee_name,
            missing_since=each.missing_since,
        )
        for each in with_work(do)
    ]
    if as_json:
        print_json({"missing": found})
        return
    rows = [(each.booking_id, each.start_time, each.invitee_name, each.calendar) for each in found]
    print_table(("Booking", "Start", "Invitee", "Calendar"), rows, nothing="No booking's event is missing.")


@app.command("decide")
def decide_missing(
    decision: Annotated[Decision, typer.Argument(help="cancel the bookings, or restore their events")],
    *,
    user: Whose,
    booking: Annotated[
        list[str] | None,
        typer.Option("--booking", help="Only this booking; can be repeated [default: all that are missing]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cancel bookings whose events have disappeared, or write the events again."""
    chosen = [parse_id(each) for each in booking] if booking else None

    async def do(work: Work) -> int:
        return await missing_events.decide_missing(work, await accounts.get_user_by_email(work, user), decision, chosen)

    count = with_work(do)
    if as_json:
        print_json({"decision": decision, "bookings": count})
        return
    done = "cancelled" if decision is Decision.CANCEL else "will be written again"
    console.print(f"{count} booking{'' if count == 1 else 's'} {done}.")


@app.command("feed")
def renew_feed(
    user: Whose,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the link")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a secret link to a user's bookings for calendar programs and print it once; an older one stops working."""

    async def do(work: Work) -> str | None:
        owner = await accounts.get_user_by_email(work, user)
        if revoke:
            await booking_events.revoke_feed(work, owner)
            return None
        return await booking_events.renew_feed(work, owner)

    url = with_work(do)
    if as_json:
        print_json({"url": url})
        return
    console.print(url or "The link was revoked.")


async def _read_all(runtime: Runtime, found: list[CalendarConnection], *, since: datetime) -> list[CalendarConnection]:
    """Read connections, and return those that are still being read."""
    from openslot.core.progress import progress

    places, unread = asyncio.Semaphore(AT_ONCE), []
    with progress("Calendars", len(found)) as advance:

        async def read(connection: CalendarConnection) -> None:
            async with places:
                if not await sync_and_wait(runtime, connection.id, since=since, patience=PATIENCE):
                    unread.append(connection)
                advance(1)

        await asyncio.gather(*(read(connection) for connection in found))
    return unread


def _check_read(unread: list[CalendarConnection]) -> None:
    """End with exit code 1 and a sentence for each connection that another process is still reading."""
    for connection in unread:
        typer.echo(
            f"{connection.label} is still being read. `openslot calendar list` shows when it was read.", err=True
        )
    if unread:
        raise typer.Exit(1)


def _read_wanted(
    caldav: str | None, username: str | None, ics: str | None, *, password_stdin: bool
) -> CalDavWanted | IcsWanted:
    if (caldav is None) == (ics is None):
        raise Invalid("Specify --caldav or --ics")
    if ics is not None:
        return IcsWanted(ics)
    if not password_stdin:
        raise Invalid("Specify --password-stdin and pass the password on standard input")
    name = username or (caldav if caldav and "@" in caldav and "://" not in caldav else None)
    if caldav is None or name is None:
        raise Invalid("Specify --username, the user name at the server")
    return CalDavWanted(address=caldav, username=name, password=sys.stdin.readline().rstrip("\r\n"))


def shown(connection: CalendarConnection) -> ShownConnection:
    """Convert a connection to its form for scripts."""
    trust = connection.trust_hours
    return ShownConnection(
        id=connection.id,
        owner_id=connection.owner_id,
        kind=connection.kind,
        label=connection.label,
        state="failing" if connection.failing_since else "ok" if connection.synced_at else "new",
        synced_at=connection.synced_at,
        failing_since=connection.failing_since,
        last_error=connection.last_error,
        next_sync_at=connection.next_sync_at,
        when_unreadable="close" if trust is None else f"trust:{trust}",
        calendars=[
            ShownCalendar(
                id=each.id,
                name=each.name,
                busy=each.is_busy,
                receives_bookings=each.receives,
                writable=each.can_write,
                unread_events=each.unread_events,
            )
            for each in connection.calendars
        ],
    )


def _show(connection: CalendarConnection, *, as_json: bool) -> None:
    if as_json:
        print_json(shown(connection))
        return
    _print([connection], as_json=False)


def _print(found: list[CalendarConnection], *, as_json: bool) -> None:
    if as_json:
        print_json({"connections": [shown(connection) for connection in found]})
        return
    rows = [
        (each.id, each.label, calendar.name, calendar.is_busy, calendar.receives, each.synced_at, each.last_error)
        for each in found
        for calendar in each.calendars
    ]
    columns = ("Id", "Connection", "Calendar", "Busy", "Receives bookings", "Last read", "Last error")
    print_table(
        columns, rows, nothing="No calendars yet. Connect one: openslot calendar connect --user EMAIL --ics URL"
    )
