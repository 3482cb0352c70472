"""A server on which a worker listens and that falls silent: the worker finds another before it is taken for dead."""

import asyncio
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from openslot.platform.core import connecting
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import ABANDONED_AFTER
from openslot.platform.core.work import Runtime
from openslot.platform.jobs import worker
from openslot.runtime import open_runtime
from proofs.proxy import Fault, FaultProxy
from tests.platform.jobs.probes import Notebook, wired
from tests.platform.jobs.support import poke, until
from tests.support.black_holes import black_hole, relayed, socket_of, with_servers
from tests.support.effects import WITHIN, working

ANSWER_WITHIN, CLOSE_WITHIN, CONNECT_WITHIN = worker.ANSWER_WITHIN, worker.CLOSE_WITHIN, worker.CONNECT_WITHIN
FIRST_PAUSE = 0.5


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less than in production, and begin without knowing which servers are down."""
    monkeypatch.setattr(connecting, "_last_until", {})
    monkeypatch.setattr(worker, "BEAT_EVERY", timedelta(seconds=0.2))
    monkeypatch.setattr(worker, "ANSWER_WITHIN", 1.0)
    monkeypatch.setattr(worker, "CLOSE_WITHIN", 0.5)
    monkeypatch.setattr(worker, "CONNECT_WITHIN", 4.0)


async def beat_after(runtime: Runtime, moment: datetime) -> None:
    """Wait for a heartbeat after a moment."""
    async with asyncio.timeout(WITHIN):
        while not await runtime.pool.fetchval("select true from worker_beats where beat_at > $1", moment):
            await asyncio.sleep(0.05)


@pytest.mark.rest("waits for seconds")
async def test_a_worker_listens_to_the_second_server_if_the_first_is_silent(settings: Settings) -> None:
    notebook = Notebook()
    with black_hole() as port:
        url = with_servers(settings.database_url or "", str(port), socket_of(settings.database_url or ""))
        chosen = replace(settings, direct_database_url=url)
        async with open_runtime(chosen, wiring=wired(notebook.write)) as runtime, working(runtime):
            await poke(runtime, "found")
            await until(lambda: notebook.notes == ["found"])


@pytest.mark.rest("waits for seconds")
async def test_a_worker_whose_server_falls_silent_soon_sends_heartbeats_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, notebook = settings.database_url or "", Notebook()
    monkeypatch.setattr(worker, "LOOK_EVERY", timedelta(hours=1))
    async with relayed(url) as way, FaultProxy("127.0.0.1", way).running() as proxy:
        chosen = replace(settings, direct_database_url=with_servers(url, str(proxy.port), socket_of(url)))
        async with open_runtime(chosen, wiring=wired(notebook.write)) as runtime, working(runtime):
            await beat_after(runtime, await runtime.pool.fetchval("select now()"))
            async with proxy.broken(Fault.BLACK_HOLE):
                await asyncio.sleep(0.3)
                began = await runtime.pool.fetchval("select now() + interval '1 second'")
                await beat_after(runtime, began)
                late = await runtime.pool.fetchval("select now() - $1::timestamptz", began)
                # It is listened to anew: nothing is looked for within the hour.
                await poke(runtime, "heard")
                await until(lambda: notebook.notes == ["heard"])
                # The heartbeat that was not seen there, and the next connection.
                assert proxy.met >= 2
            assert await runtime.pool.fetchval("select count(*) from worker_beats") == 1
    # A second until it is noticed, half a second to close the connection and as much of pause, two of four to connect.
    assert late < timedelta(seconds=6)


def test_a_server_that_falls_silent_is_replaced_before_others_take_what_the_worker_runs() -> None:
    # The last heartbeat was stored elsewhere, just before this server was asked for it; it is tried once more.
    longest = ANSWER_WITHIN + CLOSE_WITHIN + FIRST_PAUSE + CONNECT_WITHIN / 2
    assert longest < ABANDONED_AFTER.total_seconds()
