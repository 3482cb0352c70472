"""The agents' tool server: calls that only read, each with its record in the audit chain, and a search of the code."""

import asyncio
import itertools
from collections.abc import Iterator
from http.client import HTTPConnection

import asyncpg
import msgspec
import uvloop

from benchmarks.data import make_ceiling
from benchmarks.load import Tally, run_load, send
from benchmarks.rows import Row, measure_rows
from benchmarks.stage import Stage, ceiling, service, stage
from openslot.demo.large import make_large
from openslot.domains.access.models import AGENTS, CredentialKind, new_key
from openslot.doors.agents.door import PATH
from openslot.doors.agents.roster import ROSTER
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.migrate import migrate
from openslot.platform.core.work import system_clock

HOSTS, BOOKINGS = 200, 20_000
# Enough that no row of a limit is fought over.
KEYS_OF_AN_AGENT = 10
SEARCHES, MAX_SEARCH_MS = 30, 300
# Who may call each tool.
READERS = {
    "check_budget": AGENTS,
    "list_bookings": ("support", "cto", "data", "orchestrator", "customer_success"),
    "search_files": ("cto", "devops", "orchestrator", "seo", "content"),
}
ARGUMENTS = {"search_files": {"query": "no such words " * 3, "path": "openslot"}}


def main() -> None:
    """Write bookings and keys, measure against the ceiling, print a table."""
    with stage() as here:
        keys = asyncio.run(_set_up(here))
        with ceiling(here) as top, service(here) as own:
            for tool, agents in READERS.items():
                _check(own.port, keys[agents[0]][0], tool)
            uvloop.run(measure_rows((top.port, own.port), rows(keys)))
            uvloop.run(_measure_search(own.port, keys))


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
            (new_id(), agent, "bench", fingerprint(key), key[-4:], sorted(ROSTER[agent].scopes), system_clock())
            for agent, made in keys.items()
            for key in made
        ],
        columns=["id", "agent", "name", "hash", "last_four", "scopes", "created_at"],
    )
    await connection.execute("update agent_keys k set scopes = a.scopes from agents a where a.slug = k.agent")
    return keys


def rows(keys: dict[str, list[str]]) -> list[Row]:
    """List what is measured."""
    everyone = [key for made in keys.values() for key in made]
    readers = [key for agent in READERS["list_bookings"] for key in keys[agent]]
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


def _check(port: int, key: str, tool: str) -> None:
    """Refuse to measure refusals: a gate answers with status 200, too."""
    asked = {"name": tool, "arguments": ARGUMENTS.get(tool, {})}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection = HTTPConnection("localhost", port)
    connection.request("POST", PATH, body, headers)
    answer = msgspec.json.decode(connection.getresponse().read())
    connection.close()
    if answer.get("result", {}).get("isError") is not False:
        raise SystemExit(f"{tool} answered {answer}")


async def _measure_search(port: int, keys: dict[str, list[str]]) -> None:
    """Search the whole package, one call at a time, for what is nowhere, so that every file is read."""
    tally = Tally()
    readers = [key for agent in READERS["search_files"] for key in keys[agent]]
    requests = _calls(readers, "search_files")
    await run_load(port, requests, Tally(), count=2, concurrency=1)
    await run_load(port, requests, tally, count=SEARCHES, concurrency=1)
    result = tally.result()
    if set(result.statuses) != {200}:
        raise SystemExit(f"search_files answered {result.statuses}")
    median = sorted(tally.latencies)[SEARCHES // 2] * 1000
    print(
        f"\ntools/call search_files over the whole package, one at a time: median {median:.0f} ms, "
        f"p95 {result.p95_ms:.0f} ms (aim: at most {MAX_SEARCH_MS})"
    )


def _calls(keys: list[str], tool: str) -> Iterator[bytes]:
    return _messages(keys, {"method": "tools/call", "params": {"name": tool, "arguments": ARGUMENTS.get(tool, {})}})


def _messages(keys: list[str], asked: dict[str, object]) -> Iterator[bytes]:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, **asked})
    requests = [send("POST", PATH, key, msgspec.Raw(body)) for key in keys]
    # The door refuses requests to names that are not the installation's own.
    return itertools.cycle([request.replace(b"Host: bench", b"Host: localhost", 1) for request in requests])


if __name__ == "__main__":
    main()
