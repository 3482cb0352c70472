"""The agents' tool server: calls that only read, each with its record in the audit chain."""

import asyncio
import itertools
from collections.abc import Iterator

import asyncpg
import msgspec
import uvloop

from benchmarks.data import make_ceiling
from benchmarks.load import send
from benchmarks.rows import Row, measure_rows
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.access.models import AGENTS, CredentialKind, new_key
from openslot.agents.door import PATH
from openslot.core.ids import fingerprint, new_id
from openslot.core.migrate import migrate
from openslot.core.work import system_clock
from openslot.demo.large import make_large

HOSTS, BOOKINGS = 200, 20_000
# Enough that no row of a limit is fought over.
KEYS_OF_AN_AGENT = 10
MAY_LIST_BOOKINGS = ("support", "cto", "data", "orchestrator", "customer_success")


def main() -> None:
    """Write bookings and keys, measure against the ceiling, print a table."""
    with stage() as here:
        keys = asyncio.run(_set_up(here))
        with ceiling(here) as top, service(here) as own:
            uvloop.run(measure_rows((top.port, own.port), rows(keys)))


async def _set_up(here: Stage) -> dict[str, list[str]]:
    await migrate(here.url)
    connection = await asyncpg.connect(here.url)
    try:
        await make_ceiling(connection)
        await make_large(connection, hosts=HOSTS, bookings=BOOKINGS, now=system_clock(), progress=lambda _: None)
        keys = await make_keys(connection)
        await connection.execute("vacuum analyze")
        return keys
    finally:
        await connection.close()


async def make_keys(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """Give each agent keys."""
    kind = CredentialKind.AGENT_KEY
    keys = {agent: [new_key(kind, agent=agent) for _ in range(KEYS_OF_AN_AGENT)] for agent in AGENTS}
    await connection.copy_records_to_table(
        "agent_keys",
        records=[
            (new_id(), agent, "bench", fingerprint(key), key[-4:], system_clock())
            for agent, made in keys.items()
            for key in made
        ],
        columns=["id", "agent", "name", "hash", "last_four", "created_at"],
    )
    await connection.execute("update agent_keys k set scopes = a.scopes from agents a where a.slug = k.agent")
    return keys


def rows(keys: dict[str, list[str]]) -> list[Row]:
    """List what is measured."""
    everyone = [key for made in keys.values() for key in made]
    readers = [key for agent in MAY_LIST_BOOKINGS for key in keys[agent]]
    return [
        Row(
            name="tools/call check_budget, audited",
            requests=_calls(everyone, "check_budget"),
            count=6_000,
            at_least="0.25",
            beyond="0.40",
        ),
        Row(name="tools/call list_bookings, audited", requests=_calls(readers, "list_bookings"), count=2_000),
        Row(name="tools/call no_such_tool, audited", requests=_calls(everyone, "no_such_tool"), count=4_000),
        Row(name="ping", requests=_messages(everyone, {"method": "ping"}), count=6_000),
    ]


def _calls(keys: list[str], tool: str) -> Iterator[bytes]:
    return _messages(keys, {"method": "tools/call", "params": {"name": tool, "arguments": {}}})


def _messages(keys: list[str], asked: dict[str, object]) -> Iterator[bytes]:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, **asked})
    requests = [send("POST", PATH, key, msgspec.Raw(body)) for key in keys]
    # The door refuses requests to names that are not the installation's own.
    return itertools.cycle([request.replace(b"Host: bench", b"Host: localhost", 1) for request in requests])


if __name__ == "__main__":
    main()
