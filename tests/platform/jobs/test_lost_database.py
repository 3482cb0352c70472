"""A database that goes away under a worker and a web process: a few lines say so, and both go on when it is back."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import msgspec
import pytest

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.ids import new_id
from openslot.runtime import open_runtime
from tests.platform.jobs import probe_worker
from tests.platform.jobs.probes import Notebook, Poked, wired
from tests.support.databases import TEMPLATE, UNSAFE_AND_FAST, copy_data_dir, database_at
from tests.support.forked import Forked, openslot
from tests.support.ports import held_port

EFFECTS, REQUESTS = 60, 30
# One for the loss, one for a minute on a slow machine or two, one for the return; each exception would be far more.
FEW = 8
LOST, BACK = "The database can't be reached", "The database can be reached again"


@pytest.fixture
def own_database(prepared_data_dir: Path, tmp_path: Path) -> Iterator[Settings]:
    """Lend a server that no other test uses, so that it can be stopped."""
    copy_data_dir(prepared_data_dir, tmp_path / "own")
    url = database_at(start_server(tmp_path / "own", options=UNSAFE_AND_FAST).url, TEMPLATE)
    yield load_settings({"database_url": url, "data_dir": tmp_path / "own", "log_level": "error"}, environ={})
    stop_server(tmp_path / "own")


async def wait_for_words(log: Path, words: str) -> None:
    async with asyncio.timeout(120):
        while words not in log.read_text():
            await asyncio.sleep(0.05)


async def wait_for_rows(settings: Settings, table: str, count: int) -> None:
    async with asyncio.timeout(180), open_runtime(settings) as runtime:
        while await runtime.pool.fetchval(f"select count(*) from {table}") < count:
            await asyncio.sleep(0.1)


def check_lines(log: Path) -> None:
    """A line for the loss, one a minute, one for the return, and no traceback."""
    text = log.read_text()
    events = [msgspec.json.decode(line)["event"] for line in text.splitlines()]
    assert "Traceback" not in text
    assert len(events) <= FEW, events
    assert any(LOST in event for event in events)
    assert sum(BACK in event for event in events) == 1


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_a_worker_says_in_a_few_lines_that_the_database_is_gone_and_goes_on(
    own_database: Settings, tmp_path: Path
) -> None:
    go, log = tmp_path / "go", tmp_path / "worker.log"
    async with open_runtime(own_database, wiring=wired(Notebook().write)) as runtime:
        await runtime.pool.execute("create table notes (no serial, note text, effect_id uuid)")
        await runtime.pool.execute("create table began (note text)")
        for _ in range(EFFECTS):
            async with runtime.transaction(OPERATOR) as work:
                await work.record(Poked(thing=new_id(), note=str(go)))
    worker = Forked(probe_worker.run, own_database.database_url or "", str(own_database.data_dir), "info", err=log)
    try:
        await wait_for_rows(own_database, "began", EFFECTS)
        stop_server(own_database.data_dir)
        go.touch()
        await wait_for_words(log, LOST)
        # Long enough for several tries to connect.
        await asyncio.sleep(5)
        start_server(own_database.data_dir, options=UNSAFE_AND_FAST)
        await wait_for_rows(own_database, "notes", EFFECTS)
        await wait_for_words(log, BACK)
        check_lines(log)
        async with open_runtime(own_database) as runtime:
            assert await runtime.pool.fetchval("select count(distinct effect_id) from notes") == EFFECTS
            assert await runtime.pool.fetchval("select count(*) from notes") == EFFECTS
    finally:
        worker.terminate()
        worker.wait(60)


async def test_a_web_process_says_in_a_few_lines_that_the_database_is_gone_and_goes_on(
    own_database: Settings, tmp_path: Path
) -> None:
    log = tmp_path / "web.log"
    environment = {
        **os.environ,
        "DATABASE_URL": own_database.database_url or "",
        "OPENSLOT_DATA_DIR": str(own_database.data_dir),
    }
    with held_port() as port:
        web = Forked(openslot, "web", "--port", str(port), environment=environment, err=log)
        try:
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                await wait_for_status(client, 200)
                before = log.read_text()
                stop_server(own_database.data_dir)
                refused = [(await client.get("/api/v1/me", headers=KEY)).status_code for _ in range(REQUESTS)]
                start_server(own_database.data_dir, options=UNSAFE_AND_FAST)
                await wait_for_status(client, 200)
                answer = await client.get("/api/v1/me", headers=KEY)
            after = tmp_path / "after.log"
            after.write_text(log.read_text().removeprefix(before))
            check_lines(after)
            assert (set(refused), answer.status_code) == ({503}, 401)
        finally:
            web.terminate()
            web.wait(60)


KEY = {"Authorization": "Bearer osk_live_nobody_has_this_key"}


async def wait_for_status(client: httpx2.AsyncClient, status: int) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                if (await client.get("/readyz")).json()["database"] == "ok":
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.1)
