"""`openslot mcp`: the official SDK's client starts the real command, and lines that no client would send."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest
from msgspec import Struct

from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import AssistantPolicy, User
from openslot.domains.accounts.organizations.operations import add_organization, change_organization_settings
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import LIST_TOOLS, call_of
from tests.support.clocks import real_clock

if TYPE_CHECKING:
    from mcp.client.client import Client

__all__ = ["real_clock"]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READ = {"list_bookings", "get_booking", "list_event_types", "get_availability", "list_contacts"}
SLOW = 30


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The command looks at the real one."""
    return real_clock


@pytest.fixture
def environment(settings: Settings, api_key: str) -> dict[str, str]:
    """What a program passes to the command that it starts."""
    return {
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_LOG_LEVEL": "debug",
        "OPENSLOT_API_KEY": api_key,
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }


class Line(Struct):
    """A running command that is written to and read from line by line."""

    process: asyncio.subprocess.Process

    async def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        await self.process.stdin.drain()

    async def read(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(SLOW):
            return json.loads(await self.process.stdout.readline())

    async def ask(self, message: object) -> Any:
        await self.send(json.dumps(message).encode() + b"\n")
        return await self.read()

    async def end(self) -> tuple[int, bytes, str]:
        """Close the input; tell the exit code and what else was written."""
        async with asyncio.timeout(SLOW):
            out, err = await self.process.communicate(b"")
        return self.process.returncode or 0, out, err.decode()


@asynccontextmanager
async def started(environment: dict[str, str]) -> AsyncIterator[Line]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "openslot",
        "mcp",
        env={"PATH": os.environ["PATH"], **environment},
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        limit=1 << 20,
    )
    try:
        yield Line(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def line(environment: dict[str, str]) -> AsyncIterator[Line]:
    async with started(environment) as running:
        yield running


@asynccontextmanager
async def sdk_client(environment: dict[str, str], mode: Any, errors: TextIO) -> AsyncIterator["Client"]:
    # Importing it takes a second: only the process that runs these tests should.
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", "openslot", "mcp"], env=environment)
    async with Client(stdio_client(command, errlog=errors), mode=mode) as client:
        yield client


@pytest.mark.rest("talks to an official client")
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_sdk_starts_the_command_and_calls_tools(
    environment: dict[str, str], tmp_path: Path, user: User, mode: str, version: str
) -> None:
    with (tmp_path / "errors").open("w") as errors:
        async with sdk_client(environment, mode, errors) as client:
            assert client.protocol_version == version
            listed = await client.list_tools()
            found = await client.call_tool("list_event_types")
            failed = await client.call_tool("get_availability", {"eventType": "none", "timezone": "UTC"})

    assert {tool.name for tool in listed.tools} >= READ
    assert [each["slug"] for each in found.structured_content["data"]] == ["30min"]
    assert failed.is_error
    assert "Traceback" not in (tmp_path / "errors").read_text()


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_every_line_is_an_answer_and_the_end_of_the_input_ends_it(line: Line) -> None:
    introduced = await line.ask(INITIALIZE)
    await line.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n  \r\n')
    pinged = await line.ask({"jsonrpc": "2.0", "id": "a", "method": "ping"})
    # The last line may come without its end.
    await line.send(json.dumps({**LIST_TOOLS, "id": 7}).encode())
    code, out, _ = await line.end()

    assert introduced["result"]["protocolVersion"] == "2025-11-25"
    assert introduced["result"]["serverInfo"]["name"] == "openslot"
    assert pinged == {"jsonrpc": "2.0", "id": "a", "result": {}}
    assert code == 0
    assert out.count(b"\n") == 1
    assert json.loads(out)["id"] == 7


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_what_is_no_message_is_refused_and_the_next_one_is_answered(line: Line) -> None:
    for sent, code in (
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 5000, -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'"' + b"x" * 600_000 + b'"', -32600),
        (b'{"jsonrpc": "2.0", "id": 2, "method": "evil"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "evil"}}', -32602),
    ):
        await line.send(sent + b"\n")
        refused = await line.read()
        assert refused["error"]["code"] == code, (sent[:100], refused)
    both = [{**LIST_TOOLS, "id": number} for number in (1, 2)]

    assert [each["id"] for each in await line.ask(both)] == [1, 2]
    assert (await line.end())[:2] == (0, b"")


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_a_message_of_the_newest_version_describes_itself(line: Line) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    found = await line.ask({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}})
    without = {name: value for name, value in meta.items() if not name.endswith("Capabilities")}
    missing = await line.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": without}})
    unknown = {**meta, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    other = await line.ask({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": unknown}})

    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert found["result"]["resultType"] == "complete"
    assert missing["error"]["code"] == -32602
    assert other["error"]["code"] == -32022


@pytest.mark.rest("starts and stops services: one test in make test does")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it(line: Line, number: signal.Signals) -> None:
    await line.ask(INITIALIZE)
    line.process.send_signal(number)
    async with asyncio.timeout(SLOW):
        assert await line.process.wait() == 0
    _, out, err = await line.end()

    assert out == b""
    assert "Traceback" not in err


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_it_ends_when_nobody_reads_the_answers(line: Line) -> None:
    await line.ask(INITIALIZE)
    assert line.process.stdout is not None
    line.process.stdout._transport.close()  # type: ignore[attr-defined]
    for _ in range(3):
        await line.send(json.dumps(LIST_TOOLS).encode() + b"\n")
    async with asyncio.timeout(SLOW):
        assert await line.process.wait() == 0


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_without_a_key_that_is_accepted_it_says_why(
    environment: dict[str, str], runtime: Runtime, user: User, api_key: str
) -> None:
    async def refused(**changed: str) -> str:
        async with started({**environment, **changed}) as running:
            code, out, err = await running.end()
            assert (code, out) == (1, b"")
            assert api_key not in err
            return err

    assert "Set OPENSLOT_API_KEY" in await refused(OPENSLOT_API_KEY="")
    assert "OPENSLOT_API_KEY is not accepted" in await refused(OPENSLOT_API_KEY=f"{api_key[:-1]}x")
    await runtime.pool.execute("update users set plan = 'FREE' where id = $1", user.id)
    assert "plan does not include API keys (Pro and Business do)" in await refused()


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_the_key_counts_with_each_message(line: Line, runtime: Runtime, user: User) -> None:
    assert "result" in await line.ask(call_of("list_bookings"))
    async with runtime.transaction(OPERATOR) as work:
        (key,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
        await access.revoke_credential(work, CredentialKind.API_KEY, user.id, key.id)
    refused = await line.ask(call_of("list_bookings"))
    await line.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    assert (refused["id"], refused["error"]["code"]) == (1, -32010)
    assert (await line.end())[:2] == (0, b"")


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_a_disabled_user_is_refused_from_the_next_message_on(line: Line, runtime: Runtime, user: User) -> None:
    assert "result" in await line.ask(LIST_TOOLS)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)

    assert (await line.ask(LIST_TOOLS))["error"]["code"] == -32010


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_the_limit_of_the_key_counts(environment: dict[str, str]) -> None:
    async with started({**environment, "OPENSLOT_LIMIT_KEY": "4"}) as line:
        # The first request was to look at the key.
        assert "result" in await line.ask(LIST_TOOLS)
        batch = await line.ask([{**LIST_TOOLS, "id": number} for number in (1, 2, 3)])
        assert ["error" in each for each in batch] == [False, False, True]
        refused = await line.ask(LIST_TOOLS)

    assert refused["error"]["code"] == -32015
    assert refused["error"]["data"]["retryAfterSeconds"] > 0


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_organizations_decide_here_too(line: Line, runtime: Runtime, user: User) -> None:
    assert "result" in await line.ask(LIST_TOOLS)
    async with runtime.transaction(OPERATOR) as work:
        harbor = await add_organization(work, name="Harbor", slug="harbor")
        await add_organization_member(work, harbor, user)
        await change_organization_settings(work, harbor, assistants=AssistantPolicy.FORBIDDEN)
    refused = await line.ask(LIST_TOOLS)

    assert refused["error"]["data"] == {"reason": "assistants_forbidden"}
