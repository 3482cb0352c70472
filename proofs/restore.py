"""Back up a busy installation, restore the file on empty data directories, and compare what is there and what is sent.

One backup is made while people book: it must be one moment, whose audit trail is a beginning of the original's. A
second one is made when nothing happens any more: every row of every table must be equal.
"""

import asyncio
import email
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from openslot.domains.access import operations as access
from openslot.platform.backups.archive import read_manifest
from openslot.platform.backups.create import count_rows
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.embedded import find_server, start_server, stop_server
from proofs.figures import Figure
from proofs.scene import DEAD, STUCK, Scene, scene
from tests.support.agent import TestAgent
from tests.support.installation import Installation, installed, interrupt
from tests.support.killable import Guests, list_starts, processes, read_events, wait_until_done
from tests.support.live import connect

BOOKINGS, SHORT = 100, 12
AT_ONCE = 4
# More than people book while a slow machine makes a backup.
TIMES = 1000
DONE_WITHIN = 180.0
CONTENT = "select coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') from public.\"{}\" t"
BOOKED = "select id from bookings"
MAILED = "select id::text from mail_messages where status = 'sent'"
DELIVERED = "select event_id::text as id from effects where reaction = 'webhooks.send' and state = 'done'"


class Snapshot(Struct, frozen=True, kw_only=True):
    """What a database holds."""

    rows: dict[str, int]
    contents: dict[str, str]
    bookings: set[UUID]
    mailed: set[str]
    delivered: set[str]
    pending: int


class Original(Struct, frozen=True, kw_only=True):
    """A backup of each kind, and what the installation has acknowledged before the first and holds at the end."""

    busy: Path
    quiet: Path
    before: set[UUID]
    last: Snapshot


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Back up under load and at rest, restore both, and let the first go on."""
    return asyncio.run(_prove(place, SHORT if short else BOOKINGS))


async def _prove(place: Path, bookings: int) -> list[Figure]:
    async with scene(place) as set_up:
        with (
            installed(set_up.data_dir, DATABASE_URL=set_up.settings.database_url or "") as source,
            installed(place / "quiet") as quiet,
            installed(place / "busy", OPENSLOT_OUTBOUND_ALLOW="127.0.0.0/8", **set_up.environment) as busy,
        ):
            await asyncio.to_thread(source.told, "seed")
            starts = await list_starts(set_up.runtime, set_up.user.id, TIMES)
            original = await _live(set_up, source, bookings, starts)
            figures = [
                *await _compare_at_rest(original, quiet),
                *await _compare_under_load(original, source, busy),
            ]
            return figures + await _go_on(set_up, busy, original, starts[-1])


async def _live(set_up: Scene, source: Installation, bookings: int, starts: Sequence[datetime]) -> Original:
    """Let people book and an agent work, make a backup meanwhile, and another one when all is done."""
    async with set_up.runtime.transaction(OPERATOR) as work:
        agent_key, _ = await access.create_agent_key(work, "support", name="proof")
    booked: set[UUID] = set()
    environment = {**set_up.environment, "OPENSLOT_LIMIT_AGENT": "1000000"}
    async with processes(set_up.settings, environment, webs=1, workers=1) as running:
        agent_url = f"http://127.0.0.1:{running.ports[0]}"
        async with Guests(running.ports, set_up.headers) as guests, connect(agent_url) as client:
            agent = TestAgent(client, agent_key)
            async with _booking(guests, agent, starts, booked):
                await _until(booked, bookings)
                await _wait_until_told(set_up)
                before = set(booked)
                busy = await asyncio.to_thread(source.told, "backup", "create")
                await _until(booked, len(booked) + bookings // 3)
        await wait_until_done(set_up.runtime, within=DONE_WITHIN)
    quiet = await asyncio.to_thread(source.told, "backup", "create", "--to", str(set_up.data_dir / "quiet.tar"))
    return Original(
        busy=Path(busy["file"]),
        quiet=Path(quiet["file"]),
        before=before,
        last=await _look(set_up.settings.database_url or ""),
    )


@asynccontextmanager
async def _booking(
    guests: Guests, agent: TestAgent, starts: Sequence[datetime], booked: set[UUID]
) -> AsyncIterator[None]:
    """Let people book, and an agent look at its budget, for the length of the `async with`."""
    numbers, is_over = iter(range(len(starts) // 2 - 1)), asyncio.Event()

    async def go_on() -> None:
        while not is_over.is_set():
            booked.add(await guests.book(next(numbers), starts))
            await agent.result("check_budget")

    async with asyncio.TaskGroup() as group:
        # The agent's first call is answered once the web process is there.
        await guests.ask("GET", "/me", {}, key="ready")
        for _ in range(AT_ONCE):
            group.create_task(go_on())
        yield
        is_over.set()


async def _until(booked: set[UUID], count: int) -> None:
    async with asyncio.timeout(60 + 5 * count):
        while len(booked) < count:
            await asyncio.sleep(0.05)


async def _wait_until_told(set_up: Scene) -> None:
    """Wait until a mail and a webhook were sent, so that the backup has some that must not be sent again."""
    async with asyncio.timeout(DONE_WITHIN):
        while not await set_up.runtime.pool.fetchval(f"select exists ({MAILED}) and exists ({DELIVERED})"):
            await asyncio.sleep(0.05)


async def _look(url: str) -> Snapshot:
    connection = await asyncpg.connect(url)
    try:
        rows = await count_rows(connection)
        return Snapshot(
            rows=rows,
            contents={table: await connection.fetchval(CONTENT.format(table)) for table in rows},
            bookings={row["id"] for row in await connection.fetch(BOOKED)},
            mailed={row["id"] for row in await connection.fetch(MAILED)},
            delivered={row["id"] for row in await connection.fetch(DELIVERED)},
            pending=await connection.fetchval(STUCK),
        )
    finally:
        await connection.close()


@contextmanager
def _database(installation: Installation) -> Iterator[str]:
    """Run the database of an installation alone."""
    server = start_server(installation.data_dir)
    try:
        yield server.url
    finally:
        stop_server(installation.data_dir)


async def _restore(installation: Installation, file: Path) -> Snapshot:
    await asyncio.to_thread(installation.told, "backup", "restore", str(file))
    with _database(installation) as url:
        return await _look(url)


async def _compare_at_rest(original: Original, quiet: Installation) -> list[Figure]:
    found, was = await _restore(quiet, original.quiet), original.last
    names = found.rows.keys() | was.rows.keys()
    return [
        Figure("at rest: tables", len(was.rows)),
        Figure("at rest: tables that are not empty", sum(map(bool, was.rows.values())), at_least=30),
        Figure("at rest: rows", sum(was.rows.values())),
        Figure("at rest: tables with other rows", _differ(names, found.contents, was.contents), at_most=0),
    ]


async def _compare_under_load(original: Original, source: Installation, busy: Installation) -> list[Figure]:
    """Compare with the manifest, which was counted in the snapshot, and find the audit trail's end in the original."""
    found, manifest = await _restore(busy, original.busy), read_manifest(original.busy)
    names = found.rows.keys() | manifest.rows.keys()
    end = await asyncio.to_thread(busy.told, "audit", "verify")
    noted = f"{end['records']}:{end['end']}"
    now = await asyncio.to_thread(source.told, "audit", "verify", "--noted", noted)
    return [
        Figure("under load: rows", sum(found.rows.values())),
        Figure("under load: tables with another count", _differ(names, found.rows, manifest.rows), at_most=0),
        Figure("under load: bookings acknowledged before", len(original.before)),
        Figure("under load: of these missing", len(original.before - found.bookings), at_most=0),
        Figure("under load: bookings of nobody", len(found.bookings - original.last.bookings), at_most=0),
        Figure("audit trail: records in the backup", end["records"], at_least=1),
        Figure("audit trail: records in the original by now", now["records"], at_least=end["records"] + 1),
        Figure("audit trail: another head than the original's", len(end["faults"]) + len(now["faults"]), at_most=0),
    ]


def _differ(names: set[str], one: dict[str, Any], other: dict[str, Any]) -> int:
    different = sorted(name for name in names if one.get(name) != other.get(name))
    for name in different:
        print(f"{name:>44}  differs", flush=True)
    return len(different)


async def _go_on(set_up: Scene, busy: Installation, original: Original, start: datetime) -> list[Figure]:
    """Serve what was restored; the original has stopped, after it has sent everything."""
    with _database(busy) as url:
        was = await _look(url)
    mails, hooks = len(set_up.smtp.received), len(set_up.receiver.got)
    sent = _message_ids(set_up, 0, mails)
    received = {got.id for got in set_up.receiver.got}
    serving = await asyncio.to_thread(busy.start, "serve")
    await asyncio.to_thread(busy.wait_until_ready)
    async with Guests([busy.port], set_up.headers) as guests:
        found = [await guests.send("GET", f"/bookings/{id_}") for id_ in sorted(original.before)[:50]]
        wanted = {"eventTypeSlug": "short", "startTime": start.isoformat(), "inviteeName": "Gus Okafor"}
        invitee = {"inviteeEmail": "gus@okafor.example", "inviteeTimezone": "UTC"}
        await guests.ask("POST", "/bookings", wanted | invitee, key="after the restore")
    connection = await asyncpg.connect(find_server(busy.data_dir))
    async with asyncio.timeout(DONE_WITHIN):
        while await connection.fetchval(STUCK):
            await asyncio.sleep(0.2)
    dead = await connection.fetchval(DEAD)
    await connection.close()
    interrupt(serving)
    await asyncio.to_thread(busy.wait_until_gone)
    mailed = _message_ids(set_up, mails)
    delivered = [got.id for got in set_up.receiver.got[hooks:]]
    events = await read_events(set_up.radicale, set_up.calendar)
    return [
        Figure(
            "restored: bookings that it does not show", sum(not a or a.status_code != 200 for a in found), at_most=0
        ),
        Figure("restored: effects pending in the backup", was.pending),
        Figure("restored: effects given up", dead, at_most=0),
        Figure("restored: mails", len(mailed), at_least=2),
        Figure("mails that the backup had as sent", len(was.mailed), at_least=1),
        Figure("mails again that the backup had as sent", len(was.mailed & set(mailed)), at_most=0),
        Figure("mails again that it had as pending", len(set(mailed) & set(sent))),
        Figure("mails twice by what was restored", len(mailed) - len(set(mailed)), at_most=0),
        Figure("webhooks that it had as delivered", len(was.delivered), at_least=1),
        Figure("webhooks again that it had as delivered", len(was.delivered & set(delivered)), at_most=0),
        Figure("webhooks again that it had as pending", len(set(delivered) & received)),
        Figure(
            "calendar: events doubled", len(events) - len({str(each["UID"]) for each in events.values()}), at_most=0
        ),
    ]


def _message_ids(set_up: Scene, first: int, last: int | None = None) -> list[str]:
    """List the ids of mails as the table of mails has them."""
    heads = [email.message_from_bytes(got.content)["Message-ID"] for got in set_up.smtp.received[first:last]]
    return [str(head).strip("<>").partition("@")[0] for head in heads]
