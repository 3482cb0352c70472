"""`openslot assistant`: what the operator lists, disconnects and removes."""

import asyncio
from functools import partial
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import ALL, REDIRECT, call, connect, refresh, register
from tests.support.clocks import real_clock
from tests.support.command_line import Cli, Run

__all__ = ["real_clock"]


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """Commands look at the real one."""
    return real_clock


@pytest.fixture
def terminal(cli: Cli) -> Cli:
    """Run a command in a thread: it has a loop of its own."""
    return partial(asyncio.to_thread, cli, "assistant")


async def test_the_operator_lists_the_assistants_of_a_user_and_disconnects_one(
    terminal: Any, member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    assert "No assistants are connected." in await terminal("list", "--user", user.email)
    client_id, tokens = await connect(member)
    (listed,) = (await terminal("list", "--user", user.email, "--json"))["assistants"]
    table = await terminal("list", "--user", user.email)
    done = await terminal("disconnect", listed["id"], "--user", user.email, "--json")

    assert listed["clientId"] == client_id
    assert listed["clientName"] == "Helper"
    assert listed["site"] == "assistant.example"
    assert set(listed["scopes"]) == set(ALL.split())
    assert listed["id"] in table
    assert tokens.access_token not in table
    assert done == {"disconnected": listed["id"]}
    assert (await call(member, tokens.access_token)).status_code == 401
    assert (await refresh(member, client_id, tokens.refresh_token)).json()["error"] == "invalid_grant"
    assert (await terminal("list", "--user", user.email, "--json"))["assistants"] == []
    fact = await runtime.pool.fetchval("select fact ->> 'by' from events where type = 'assistant.disconnected'")
    assert fact == "operator"


async def test_the_operator_lists_programs_and_removes_one_from_everybody(
    terminal: Any, member: httpx2.AsyncClient
) -> None:
    assert "No programs are known." in await terminal("clients")
    unused = await register(member, name="Unused")
    client_id, tokens = await connect(member)
    found = {each["id"]: each for each in (await terminal("clients", "--json"))["clients"]}
    table = await terminal("clients")
    removed = await terminal("remove-client", client_id, "--json")
    said = await terminal("remove-client", unused)

    assert {each: found[each]["connections"] for each in found} == {unused: 0, client_id: 1}
    assert found[client_id]["redirectUris"] == [REDIRECT]
    assert found[client_id]["origin"] == "registered"
    assert "Unused" in table
    assert removed == {"removed": client_id, "disconnected": 1}
    assert "Connections that have ended: 0." in said
    assert (await terminal("clients", "--json"))["clients"] == []
    assert (await call(member, tokens.access_token)).status_code == 401
    refused = await refresh(member, client_id, tokens.refresh_token)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


async def test_what_does_not_exist_is_named(
    command_line: Run, member: httpx2.AsyncClient, user: User, stranger: User, runtime: Runtime
) -> None:
    _, tokens = await connect(member)
    grant_id = str(await runtime.pool.fetchval("select id from assistant_grants"))

    async def fails(*arguments: str) -> str:
        with pytest.raises(Exception) as refused:  # noqa: PT011 - each has its own
            await asyncio.to_thread(command_line, "assistant", *arguments)
        return str(refused.value)

    assert await fails("list", "--user", "nobody@nowhere.example") == "User not found"
    assert await fails("disconnect", str(uuid4()), "--user", user.email) == "Assistant not found"
    assert await fails("disconnect", "nonsense", "--user", user.email)
    assert await fails("disconnect", grant_id, "--user", stranger.email) == "Assistant not found"
    assert await fails("remove-client", "unknown") == "Assistant not found"
    assert (await call(member, tokens.access_token)).status_code == 200
