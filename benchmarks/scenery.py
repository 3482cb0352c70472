"""What the benchmarks find in the database: many hosts with keys, bookings and busy calendars."""

from datetime import datetime, timedelta

import asyncpg
from msgspec import Struct

from openslot.access.keys import CredentialKind, new_key
from openslot.core.clock import system_clock
from openslot.core.ids import new_id
from openslot.core.secrets import fingerprint
from openslot.demo.large import LargeHost, make_large

HOSTS = 1_000
BUSY = {50: 40, 500: 40, 5_000: 4}


class Scenery(Struct, frozen=True, kw_only=True):
    """Who can ask for what."""

    keys: list[str]
    """Two a host."""

    hosts: list[LargeHost]
    busy: dict[int, list[LargeHost]]
    """Hosts by how many busy spans stand in the next 62 days."""


async def make_scenery(connection: asyncpg.Connection, *, bookings: int) -> Scenery:
    """Write hosts with bookings, second keys, and busy spans for some."""
    now = system_clock()
    hosts = await make_large(connection, hosts=HOSTS, bookings=bookings, now=now, progress=lambda _: None)
    second = [(host, new_key(CredentialKind.API_KEY)) for host in hosts]
    await connection.copy_records_to_table(
        "api_keys",
        columns=["id", "user_id", "name", "hash", "last_four", "created_at"],
        records=[(new_id(), host.id, "second", fingerprint(key), key[-4:], now) for host, key in second],
    )
    busy = await _make_busy(connection, hosts, now)
    await connection.execute("vacuum analyze")
    return Scenery(keys=[*(host.api_key for host in hosts), *(key for _, key in second)], hosts=hosts, busy=busy)


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
