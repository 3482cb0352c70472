"""What the benchmarks find in the database: many hosts with keys, bookings and busy calendars."""

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec import Struct

from openslot.demo.large import FIRST_NAMES, LargeHost, make_large
from openslot.domains.access.models import CredentialKind, new_key
from openslot.domains.contacts.models import fold_contact
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock

HOSTS = 1_000
# Enough that none of them comes near a limit: one hot key would measure the lock of one row.
KEYS = 2_000
BOOKINGS_A_LIST = 20
CONTACTS = 10_000
FREE_STARTS = 40_000
HISTORIES = (1_000, 10_000)
BUSY = {50: 40, 500: 40, 5_000: 4}


class BenchmarkData(Struct, frozen=True, kw_only=True):
    """Who can ask for what."""

    keys: list[str]
    """Of hosts whose list of bookings fills a page."""

    hosts: list[LargeHost]
    busy: dict[int, list[str]]
    """Keys of hosts by how many busy spans stand in the next 62 days."""

    booked: list[tuple[str, UUID]]
    """Some bookings, each with its host's key."""

    free: list[tuple[str, datetime]]
    """Some free starts, each with its host's key."""

    popular: list[str]
    """Keys of a host with 10,000 contacts."""

    long_standing: dict[int, list[str]]
    """Keys of hosts by how many bookings of their own they have."""


async def set_up(url: str, *, bookings: int) -> BenchmarkData:
    """Fill an empty database with what is measured."""
    await migrate(url)
    connection = await asyncpg.connect(url)
    try:
        await make_ceiling(connection)
        return await create_data(connection, bookings=bookings)
    finally:
        await connection.close()


async def list_made(url: str, data: BenchmarkData) -> list[tuple[str, str]]:
    """List the bookings that were made during the measurement, each with its host's key."""
    connection = await asyncpg.connect(url)
    keys = {host.id: host.api_key for host in data.hosts}
    rows = await connection.fetch("select host_id, id from bookings where invitee_email = 'client@bench.example'")
    await connection.close()
    return [(keys[row["host_id"]], str(row["id"])) for row in rows]


async def create_data(connection: asyncpg.Connection, *, bookings: int) -> BenchmarkData:
    """Write hosts with bookings, second keys, and busy spans for some."""
    now = system_clock()
    asked = min(HOSTS, bookings // BOOKINGS_A_LIST)
    hosts = await make_large(connection, hosts=asked, bookings=bookings, now=now, progress=lambda _: None)
    if asked < HOSTS:
        hosts += await make_large(connection, hosts=HOSTS - asked, bookings=0, now=now, progress=lambda _: None)
    busy = await _make_busy(connection, hosts, now)
    await _make_contacts(connection, hosts[-1], now)
    listed = await _make_keys(connection, hosts[:asked], now)
    keys_of_busy = {spans: await _make_keys(connection, chosen, now) for spans, chosen in busy.items()}
    popular = await _make_keys(connection, hosts[-1:], now)
    long_standing = {count: await _make_long_standing(connection, count, now) for count in HISTORIES}
    await connection.execute("vacuum analyze")
    keys = {host.id: host.api_key for host in hosts}
    past = "select host_id, id from bookings where host_id = any($1) and starts_at < now() limit 5000"
    rows = await connection.fetch(past, list(keys))
    return BenchmarkData(
        keys=listed,
        hosts=hosts,
        busy=keys_of_busy,
        booked=[(keys[row["host_id"]], row["id"]) for row in rows],
        free=await _find_free(connection, hosts[100:-1], now),
        popular=popular,
        long_standing=long_standing,
    )


async def _make_long_standing(connection: asyncpg.Connection, bookings: int, now: datetime) -> list[str]:
    hosts = await make_large(connection, hosts=1, bookings=bookings, now=now, progress=lambda _: None)
    return await _make_keys(connection, hosts, now)


async def _make_keys(connection: asyncpg.Connection, hosts: list[LargeHost], now: datetime) -> list[str]:
    made = [(host, new_key(CredentialKind.API_KEY)) for _ in range(-(-KEYS // len(hosts))) for host in hosts]
    await connection.copy_records_to_table(
        "api_keys",
        columns=["id", "user_id", "name", "hash", "last_four", "created_at"],
        records=[(new_id(), host.id, "bench", fingerprint(key), key[-4:], now) for host, key in made],
    )
    return [key for _, key in made]


async def _make_contacts(connection: asyncpg.Connection, host: LargeHost, now: datetime) -> None:
    rows = []
    for n in range(CONTACTS):
        who = {"name": f"{FIRST_NAMES[n % 10]} {n:05}", "email": f"c{n}@bench.example", "company": f"Company {n % 97}"}
        rows.append((new_id(), host.id, *who.values(), fold_contact(**who), now, now))
    await connection.copy_records_to_table(
        "contacts",
        columns=["id", "owner_id", "name", "email", "company", "search_text", "created_at", "updated_at"],
        records=rows,
    )


async def _find_free(
    connection: asyncpg.Connection, hosts: list[LargeHost], now: datetime
) -> list[tuple[str, datetime]]:
    """List free half hours of the coming eight weeks, one host after the other for each."""
    taken: dict[int, set[datetime]] = {host.no: set() for host in hosts}
    for row in await connection.fetch("select host_no, starts_at from claims where starts_at > $1", now):
        taken.get(row["host_no"], set()).add(row["starts_at"])
    monday = (now + timedelta(days=7 - now.weekday())).replace(hour=9, minute=0, second=0, microsecond=0)
    starts = [monday + timedelta(days=day, minutes=30 * n) for day in range(56) if day % 7 < 5 for n in range(16)]
    return [(host.api_key, start) for start in starts for host in hosts if start not in taken[host.no]][:FREE_STARTS]


async def _make_busy(
    connection: asyncpg.Connection, hosts: list[LargeHost], now: datetime
) -> dict[int, list[LargeHost]]:
    chosen: dict[int, list[LargeHost]] = {0: hosts[-40:]}
    place = 0
    for spans, count in BUSY.items():
        chosen[spans] = hosts[place : place + count]
        place += count
        stride = timedelta(days=62 if spans > 50 else 7) / spans
        rows = [
            (host.no, "Work", f"{n}@bench", asyncpg.Range(now + stride * n, now + stride * n + stride / 3))
            for host in chosen[spans]
            for n in range(spans)
        ]
        await connection.copy_records_to_table(
            "busy_spans", columns=["host_no", "source", "uid", "during"], records=rows
        )
    return chosen


async def make_ceiling(connection: asyncpg.Connection) -> None:
    """Write the rows that the ceiling reads."""
    await connection.execute("create table ceiling (id int primary key, body text not null)")
    body = '{"text":"' + "x" * 189 + '"}'
    await connection.execute("insert into ceiling select n, $1 from generate_series(1, 1000) n", body)
