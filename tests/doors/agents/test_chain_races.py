"""The chain under parallel calls: one chain for all servers, one commit for many calls that only read."""

import asyncio
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.doors.agents import calls
from openslot.doors.agents.audit import operations as audit
from openslot.doors.agents.audit.operations import verify
from openslot.doors.agents.models import Tier
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Runtime
from tests.doors.agents.support import probe, record, write
from tests.support.agent import TestAgent, make_key
from tests.support.live import connect, serving

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")


async def test_two_servers_write_one_chain(settings: Settings, runtime: Runtime, monkeypatch: Any) -> None:
    monkeypatch.setitem(calls.BY_NAME, "probe", probe(write, Tier.T2))
    patient = replace(settings, limit_agent=10_000)
    key = await make_key(runtime, "orchestrator")
    async with (
        serving(create_app(patient)) as one,
        serving(create_app(patient)) as other,
        connect(one, timeout=60) as first,
        connect(other, timeout=60) as second,
    ):
        await asyncio.gather(*(call(client, key, no) for no in range(40) for client in (first, second)))
    verified = await verify(runtime)

    assert (verified.records, verified.faults) == (80, ())
    found = await runtime.pool.fetch("select tool, count(*) from agent_calls group by tool order by tool")
    assert [tuple(row.values()) for row in found] == [("check_budget", 40), ("probe", 40)]


async def call(client: httpx2.AsyncClient, key: str, no: int) -> None:
    """Read and write in turns."""
    agent = TestAgent(client, key)
    answer = await (agent.call("check_budget") if no % 2 else agent.call("probe", confirm=True))
    assert answer["result"]["isError"] is False


async def test_calls_that_come_together_share_one_commit(runtime: Runtime) -> None:
    await audit.keep_record(runtime, record())
    await asyncio.gather(*(audit.keep_record(runtime, record()) for _ in range(150)))

    assert (await verify(runtime)).records == 151
    # Each commit has its own transaction id, which every row that it wrote shows.
    assert await runtime.pool.fetchval("select count(distinct xmin::text) from agent_calls") <= 4


async def test_a_call_is_answered_after_its_record_is_committed(orchestrator: TestAgent, runtime: Runtime) -> None:
    for no in range(5):
        await orchestrator.call("check_budget")
        assert await runtime.pool.fetchval("select count(*) from agent_calls") == no + 1


async def test_what_another_process_has_appended_is_followed(settings: Settings, runtime: Runtime) -> None:
    await audit.keep_record(runtime, record())
    known = runtime.one(audit.CachedChainEnd).end
    await audit.keep_record(runtime, record())
    runtime.one(audit.CachedChainEnd).end = known
    await audit.keep_record(runtime, record())
    runtime.one(audit.CachedChainEnd).end = known
    async with runtime.transaction(SYSTEM) as work:
        await audit.keep_records_with(work, record())

    verified = await verify(runtime)
    assert (verified.records, verified.faults) == (4, ())


async def test_a_record_that_was_not_committed_leaves_no_gap(runtime: Runtime) -> None:
    for _ in range(2):
        with pytest.raises(Conflict):
            await keep_and_roll_back(runtime)
        await audit.keep_record(runtime, record())

    verified = await verify(runtime)
    assert (verified.records, verified.faults) == (2, ())


async def keep_and_roll_back(runtime: Runtime) -> None:
    """Keep a record in a transaction that is not committed."""
    async with runtime.transaction(SYSTEM) as work:
        await audit.keep_records_with(work, record())
        raise Conflict("Not like this")
