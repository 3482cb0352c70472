"""Whoever meets an account that is being deleted: directories, agents, calendars, the terminal."""

import asyncio
import json
from functools import partial

import httpx2
import pytest

from openslot.domains.accounts.errors import AccountDeletionPending
from openslot.domains.accounts.models import User
from openslot.domains.people import operations as people
from openslot.doors.agents.audit.operations import verify
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import Connect, connect, radicale, work_calendar
from tests.domains.people.deletions.conftest import Delete, advance, find_state, is_there, settle
from tests.support.agent import TestAgent, make_key
from tests.support.clocks import MovingClock
from tests.support.command_line import Run
from tests.support.effects import work_off
from tests.support.host import Book
from tests.support.provisioning import Provider, found_organization
from tests.support.radicale import Radicale

__all__ = ["connect", "radicale", "work_calendar"]


async def test_a_directory_can_not_add_an_account_that_is_being_deleted(
    runtime: Runtime, user: User, clock: MovingClock, client: httpx2.AsyncClient, delete: Delete
) -> None:
    _, token = await found_organization(runtime, "harbor", "lindqvist.example")
    provider = Provider(client, token)
    await delete()

    refused = await provider.send("POST", "/Users", {"userName": user.email})

    assert refused.status_code == 409, refused.text
    assert "being deleted" in refused.text
    await settle(runtime, clock)
    made = await provider.create(user.email)
    assert made["active"] is True
    assert await find_state(runtime, user) == "done"


async def test_a_directory_and_a_deletion_at_the_same_moment_never_leave_half_a_member(
    runtime: Runtime, user: User, clock: MovingClock, client: httpx2.AsyncClient, delete: Delete
) -> None:
    _, token = await found_organization(runtime, "harbor", "lindqvist.example")
    provider = Provider(client, token)

    answer, deleted = await asyncio.gather(
        provider.send("POST", "/Users", {"userName": user.email}), delete(), return_exceptions=True
    )

    assert isinstance(answer, httpx2.Response)
    assert answer.status_code in {201, 409}
    # Either the directory was first, and manages the account now, or the deletion was.
    is_member = answer.status_code == 201
    assert isinstance(deleted, Exception) == is_member
    assert await runtime.pool.fetchval("select count(*) from memberships") == int(is_member)
    assert (await find_state(runtime, user) is None) == is_member


async def test_an_agents_tools_do_not_disturb_a_deletion_and_the_audit_chain_stays_whole(
    runtime: Runtime, user: User, clock: MovingClock, client: httpx2.AsyncClient, book: Book, delete: Delete
) -> None:
    agent = TestAgent(client, await make_key(runtime, "orchestrator"))
    await book()
    shown = await agent.result("get_user", userId=str(user.id))
    assert shown["status"] == "active"
    await delete()

    assert (await agent.result("get_user", userId=str(user.id)))["status"] == "disabled"
    async with runtime.transaction(OPERATOR) as work:
        assert await people.disable_user(work, user, reason="Spam") == 0
    await settle(runtime, clock)

    assert not await is_there(runtime, user)
    gone = await agent.call("get_user", userId=str(user.id))
    assert gone["result"]["isError"]
    assert await runtime.pool.fetchval("select count(*) from agent_calls where target_id = $1", str(user.id)) == 3
    verified = await verify(runtime)
    assert (verified.records, verified.faults) == (3, ())


async def test_entries_are_removed_from_the_calendar_before_its_password_goes(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    connect: Connect,
    radicale: Radicale,
    work_calendar: str,
    delete: Delete,
) -> None:
    await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]
    await delete()
    await advance(runtime)
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 1

    await settle(runtime, clock)

    assert await radicale.names(work_calendar) == []
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


async def test_the_terminal_deletes_by_the_same_verb_and_asks_first(
    runtime: Runtime, user: User, command_line: Run
) -> None:
    cli = partial(asyncio.to_thread, command_line)
    kept = await cli("user", "delete", user.email, typed="n\n")
    assert kept.exit_code == 1
    assert await find_state(runtime, user) is None

    made = await cli("user", "delete", user.email, "--yes", "--message", "Closed", "--json")

    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout) == {"userId": str(user.id), "state": "cancelling"}
    assert await runtime.pool.fetchval("select message from account_deletions") == "Closed"
    listed = await cli("user", "deletions", "--json")
    assert [each["userId"] for each in json.loads(listed.stdout)["deletions"]] == [str(user.id)]
    with pytest.raises(AccountDeletionPending):
        await cli("user", "enable", user.email)
