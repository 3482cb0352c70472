"""An agent played by a script: through each door it finds a time, books it, reschedules and cancels, by tools alone."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import get_code, read_tokens, redeem, register
from tests.support.clocks import real_clock
from tests.support.host import open_session
from tests.support.live import connect

if TYPE_CHECKING:
    from mcp.client.client import Client

__all__ = ["real_clock"]

INVITEE = {"inviteeName": "Jonas Okafor", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The doors look at the real one."""
    return real_clock


class Door(Struct, frozen=True, kw_only=True):
    """How the tools of a door are named, and what names a booking there."""

    find_times: str
    book: str
    booking: str
    booked_as: str
    """Where the result of a booking has it."""


HOST = Door(find_times="get_availability", book="create_booking", booking="bookingId", booked_as="id")
INVITEES = Door(find_times="list_free_times", book="book", booking="manageUrl", booked_as="manageUrl")


async def play(client: "Client", door: Door) -> list[str]:
    """Do what a person asks an assistant for, and return the states of the booking."""

    async def call(tool: str, **arguments: Any) -> Any:
        answer = await client.call_tool(tool, arguments)
        assert not answer.is_error, answer
        return answer.structured_content

    offered = await _find_offer(call, door)

    async def find_times() -> list[str]:
        return list_starts(await call(door.find_times, **offered, timezone="UTC"))

    first, second, *_ = await find_times()
    booked = await call(door.book, **offered, startTime=first, **INVITEE, idempotencyKey="once")
    again = await call(door.book, **offered, startTime=first, **INVITEE, idempotencyKey="once")
    assert again == booked
    assert first not in await find_times()
    of_booking = {door.booking: booked[door.booked_as]}
    moved = await call("reschedule_booking", **of_booking, newStartTime=second)
    assert first in (free := await find_times())
    assert second not in free
    cancelled = await call("cancel_booking", **of_booking)
    assert second in await find_times()
    refused = await client.call_tool("reschedule_booking", {**of_booking, "newStartTime": first})
    assert refused.is_error
    return [booked["status"], moved["status"], cancelled["status"]]


async def _find_offer(call: Any, door: Door) -> dict[str, str]:
    if door is HOST:
        (event_type,) = (await call("list_event_types"))["data"]
        return {"eventType": event_type["slug"]}
    (event_type,) = (await call("find_host", page="mara"))["eventTypes"]
    return {"eventTypeId": event_type["id"]}


def list_starts(found: Any) -> list[str]:
    """Read the times of either server."""
    if isinstance(found, dict):
        start = found.get("startTime")
        inner = [each for value in found.values() for each in list_starts(value)]
        return [start] if isinstance(start, str) else inner
    return [each for value in found for each in list_starts(value)] if isinstance(found, list) else []


@asynccontextmanager
async def over_http(url: str, **headers: str) -> AsyncIterator["Client"]:
    # Importing it takes a second: only the process that runs these tests should.
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def get_token(installation: str, runtime: Runtime, user: User) -> str:
    """Let the host allow everything."""
    async with connect(installation, timeout=60) as browser:
        client_id = await register(browser)
        browser.headers.update(await open_session(runtime, user))
        resource = f"{installation}/mcp"
        code = await get_code(browser, client_id, resource=resource)
        return read_tokens(await redeem(browser, client_id, code, resource=resource)).access_token


async def test_a_hosts_assistant_books_reschedules_and_cancels(installation: str, runtime: Runtime, user: User) -> None:
    token = await get_token(installation, runtime, user)
    async with over_http(f"{installation}/mcp", Authorization=f"Bearer {token}") as client:
        assert await play(client, HOST) == ["CONFIRMED", "CONFIRMED", "CANCELLED"]

    assert await list_makers(runtime) == ["Helper"] * 3


@pytest.mark.rest("lives through a booking as the host's assistant does")
async def test_an_invitees_assistant_books_reschedules_and_cancels(
    installation: str, runtime: Runtime, user: User
) -> None:
    async with over_http(f"{installation}/mcp/public") as client:
        assert await play(client, INVITEES) == ["CONFIRMED", "CONFIRMED", "CANCELLED"]

    assert await list_makers(runtime) == [None] * 3


@pytest.mark.rest("starts a program that serves one assistant")
async def test_a_program_on_the_same_machine_books_reschedules_and_cancels(
    settings: Settings, runtime: Runtime, user: User, api_key: str
) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    environment = {
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_API_KEY": api_key,
        "OPENSLOT_LOG_LEVEL": "error",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    command = StdioServerParameters(command=sys.executable, args=["-m", "openslot", "mcp"], env=environment)
    async with Client(stdio_client(command)) as client:
        assert await play(client, HOST) == ["CONFIRMED", "CONFIRMED", "CANCELLED"]

    assert await list_makers(runtime) == ["openslot mcp"] * 3


async def list_makers(runtime: Runtime) -> list[str | None]:
    """List through which assistant the booking was made and changed."""
    rows = await runtime.pool.fetch(
        "select actor ->> 'assistant' as name from events where type like 'booking.%' order by id"
    )
    return [row["name"] for row in rows]
