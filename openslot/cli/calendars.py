"""calendar …: calendars that say when their owner is busy, and that receive bookings."""

import asyncio
import sys
from datetime import datetime
from typing import Annotated

import typer
from msgspec.structs import replace

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.calendars import booking_events, channels
from openslot.domains.calendars.host_changes import Decision, decide_missing_events, list_missing_events
from openslot.domains.calendars.models import (
    CalDavWanted,
    CalendarConnection,
    ConnectionChanges,
    ConnectionRef,
    IcsWanted,
)
from openslot.domains.calendars.operations import (
    change_calendar_connection,
    connect_calendar,
    get_calendar_connection,
    list_calendar_connections,
    make_connections_due,
)
from openslot.domains.calendars.rules import LEASE
from openslot.domains.calendars.sync import sync_and_wait
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.progress import progress
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import say

AT_ONCE = 10
# A reading ends, or its lease does.
PATIENCE = LEASE

app = group("Calendars.")

ConnectionId = Annotated[str, typer.Argument(help="Id of the connection, from `calendar list`")]
Whose = Annotated[str, typer.Option("--user", help="User's email address")]
AnyoneIfNone = Annotated[str | None, typer.Option("--user", help="Only this user's, by email address")]


@command(app, "connect")
async def connect_account(
    runtime: Runtime,
    *,
    user: Whose,
    caldav: Annotated[str | None, typer.Option(help="A CalDAV server: a URL, a host name or an email address")] = None,
    username: Annotated[str | None, typer.Option(help="The user name at the CalDAV server")] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input")
    ] = False,
    ics: Annotated[str | None, typer.Option(help="The URL of an ICS feed, which is only read")] = None,
) -> Answer:
    """Connect a calendar, and wait until it was read for the first time."""
    wanted = _read_wanted(caldav, username, ics, password_stdin=password_stdin)
    work = runtime.work(OPERATOR)
    connection = await connect_calendar(work, await get_user_by_email(work, user), wanted)
    was_read = await sync_and_wait(runtime, connection.id, since=connection.created_at, patience=PATIENCE)
    found = await get_calendar_connection(work, ConnectionRef(connection.id))
    return _answer(found, unread=[] if was_read else [found])


@command(app, "list")
async def list_connections(work: Work, user: AnyoneIfNone = None) -> Answer:
    """List connections with their calendars and when each was last read."""
    owner = await get_user_by_email(work, user) if user else None
    return _answer_all(await list_calendar_connections(work, owner))


@command(app, "set")
async def set_connection(
    work: Work,
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
    invites: Annotated[
        bool | None,
        typer.Option("--invite/--no-invite", help="Whether the calendar's provider invites to new bookings"),
    ] = None,
) -> Answer:
    """Choose which calendars count as busy, which one receives bookings, who invites, and what if it can't be read."""
    if busy and none_busy:
        raise Invalid("Specify --busy or --none-busy")
    chosen = tuple(busy) if busy else () if none_busy else None
    changes = ConnectionChanges(busy=chosen, write_to=write_to, when_unreadable=when_unreadable, invites=invites)
    return _answer(await change_calendar_connection(work, ConnectionRef(parse_id(connection_id)), changes))


@command(app, "sync")
async def sync_connections(runtime: Runtime, user: AnyoneIfNone = None) -> Answer:
    """Read connections now, and wait until it is done."""
    work = runtime.work(OPERATOR)
    owner = await get_user_by_email(work, user) if user else None
    unread = await _read_all(runtime, await make_connections_due(work, owner), since=work.now)
    return _answer_all(await list_calendar_connections(work, owner), unread=unread)


@command(app, "disconnect")
async def disconnect_account(runtime: Runtime, connection_id: ConnectionId) -> Answer:
    """Delete a connection; what was written into its calendars stays there."""
    await channels.disconnect(runtime.work(OPERATOR), ConnectionRef(parse_id(connection_id)))
    return Answer({"disconnected": connection_id}, "The calendar is disconnected.")


@command(app, "missing")
async def list_missing(work: Work, user: Whose) -> Answer:
    """List bookings whose events disappeared from the calendar together, so that nothing was cancelled."""
    found = await list_missing_events(work, await get_user_by_email(work, user))
    rows = [(each.booking_id, each.starts_at, each.invitee_name, each.calendar_name) for each in found]
    names = "booking_id invitee_name missing_since"
    shown = [pick(each, names, calendar=each.calendar_name, start_time=each.starts_at) for each in found]
    table = TableRows(("Booking", "Start", "Invitee", "Calendar"), rows, "No booking's event is missing.")
    return Answer({"missing": shown}, table)


@command(app, "decide")
async def decide_missing(
    work: Work,
    decision: Annotated[Decision, typer.Argument(help="cancel the bookings, or restore their events")],
    *,
    user: Whose,
    booking: Annotated[
        list[str] | None,
        typer.Option("--booking", help="Only this booking; can be repeated [default: all that are missing]"),
    ] = None,
) -> Answer:
    """Cancel bookings whose events have disappeared, or write the events again."""
    chosen = [parse_id(each) for each in booking] if booking else None
    host = await get_user_by_email(work, user)
    count = await decide_missing_events(work, host, decision, chosen)
    done = "cancelled" if decision is Decision.CANCEL else "will be written again"
    text = f"{count} booking{'' if count == 1 else 's'} {done}."
    return Answer({"decision": decision, "bookings": count}, text)


@command(app, "feed")
async def renew_feed(
    work: Work, user: Whose, revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the link")] = False
) -> Answer:
    """Create a secret link to a user's bookings for calendar programs and print it once; an older one stops working."""
    owner = await get_user_by_email(work, user)
    if revoke:
        await booking_events.revoke_feed(work, owner)
        return Answer({"url": None}, "The link was revoked.")
    url = await booking_events.renew_feed(work, owner)
    return Answer({"url": url}, url)


async def _read_all(runtime: Runtime, found: list[CalendarConnection], *, since: datetime) -> list[CalendarConnection]:
    """Read connections, and return those that are still being read."""
    limit, unread = asyncio.Semaphore(AT_ONCE), []
    with progress("Calendars", len(found)) as advance:

        async def read(connection: CalendarConnection) -> None:
            async with limit:
                if not await sync_and_wait(runtime, connection.id, since=since, patience=PATIENCE):
                    unread.append(connection)
                advance(1)

        await asyncio.gather(*(read(connection) for connection in found))
    return unread


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


def _answer(connection: CalendarConnection, *, unread: list[CalendarConnection] | None = None) -> Answer:
    answer = _answer_all([connection], unread=unread or [])
    return replace(answer, json=_shape(connection))


def _answer_all(found: list[CalendarConnection], *, unread: list[CalendarConnection] | None = None) -> Answer:
    """List connections; with a warning and exit code 1 for those that another process is still reading."""
    rows = [
        (
            each.id,
            each.label,
            calendar.name,
            calendar.is_busy,
            calendar.receives,
            each.synced_at,
            say(each.last_error or ""),
        )
        for each in found
        for calendar in each.calendars
    ]
    columns = ("Id", "Connection", "Calendar", "Busy", "Receives bookings", "Last read", "Last error")
    nothing = "No calendars yet. Connect one: openslot calendar connect --user EMAIL --ics URL"
    still = "is still being read. `openslot calendar list` shows when it was read."
    return Answer(
        {"connections": [_shape(connection) for connection in found]},
        TableRows(columns, rows, nothing),
        warnings=[f"{connection.label} {still}" for connection in unread or []],
        exit_code=1 if unread else 0,
    )


def _shape(connection: CalendarConnection) -> dict[str, object]:
    """Shape a connection for scripts, without its secrets."""
    names = "id owner_id kind label synced_at failing_since last_error next_sync_at"
    trust = connection.trust_hours
    return pick(
        connection,
        names,
        state="failing" if connection.failing_since else "ok" if connection.synced_at else "new",
        when_unreadable="close" if trust is None else f"trust:{trust}",
        invites=connection.invites,
        calendars=[
            pick(
                each,
                "id name unread_events",
                busy=each.is_busy,
                receives_bookings=each.receives,
                writable=each.can_write,
            )
            for each in connection.calendars
        ],
    )
