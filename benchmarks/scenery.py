"""What the benchmarks find in the database: many hosts, each with a key."""

import asyncpg

from openslot.access.keys import CredentialKind, new_key
from openslot.core.clock import system_clock
from openslot.core.ids import new_id
from openslot.core.secrets import fingerprint

HOSTS = 2_000


async def make_hosts(connection: asyncpg.Connection) -> list[str]:
    """Write hosts with a key each, in bulk, and give the keys."""
    now = system_clock()
    users, keys, rows = [], [], []
    for number in range(HOSTS):
        user_id, key = new_id(), new_key(CredentialKind.API_KEY)
        users.append((user_id, f"host{number}@bench.example", f"Host {number}", f"host{number}", "PRO", now, now))
        keys.append(key)
        rows.append((new_id(), user_id, "bench", fingerprint(key), key[-4:], now))
    await connection.copy_records_to_table(
        "users", records=users, columns=["id", "email", "name", "username", "plan", "created_at", "updated_at"]
    )
    await connection.copy_records_to_table(
        "api_keys", records=rows, columns=["id", "user_id", "name", "hash", "last_four", "created_at"]
    )
    return keys


async def make_ceiling(connection: asyncpg.Connection) -> None:
    """Write the rows that the ceiling reads."""
    await connection.execute("create table ceiling (id int primary key, body text not null)")
    body = '{"text":"' + "x" * 189 + '"}'
    await connection.execute("insert into ceiling select n, $1 from generate_series(1, 1000) n", body)
    await connection.execute("analyze")
