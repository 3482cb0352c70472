"""The database has no space or is away: what was done is not done again, and no try is counted as failed."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.db import PoolTimeoutError
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Runtime, Work
from openslot.platform.jobs import effects
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Notebook, wired
from tests.platform.jobs.support import poke, settled, states, until
from tests.support.effects import working

REFUSE = """
create function refuse() returns trigger language plpgsql as $$ begin {way}; return new; end $$;
create trigger refuse before update on effects for each row when (new.state in ('done', 'dead'))
    execute function refuse();
"""
NO_SPACE = REFUSE.format(
    way="raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'"
)
LOSE_CONNECTION = REFUSE.format(way="perform pg_terminate_backend(pg_backend_pid())")
MAKE_ROOM = "drop trigger refuse on effects; drop function refuse"
ATTEMPTS = "select attempts from effects"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have results that could not be stored tried again soon."""
    monkeypatch.setattr(effects, "ROOM_AGAIN_AFTER", timedelta(milliseconds=20))
    monkeypatch.setattr(effects, "REACHED_AGAIN_AFTER", timedelta(milliseconds=20))


@pytest.mark.rest("waits for seconds")
@pytest.mark.own_database
@pytest.mark.parametrize("refuse", [NO_SPACE, LOSE_CONNECTION])
async def test_what_was_done_is_not_done_again_while_its_result_can_not_be_stored(
    settings: Settings, refuse: str
) -> None:
    notebook = Notebook()
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        await runtime.pool.execute(refuse)
        await poke(runtime, "once")
        async with working(runtime):
            await until(lambda: notebook.notes)
            # Longer than all tries of a reaction that fails.
            await asyncio.sleep(1)
            assert await states(runtime) == ["running"]
            await runtime.pool.execute(MAKE_ROOM)
            assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval(ATTEMPTS) == 1
    assert notebook.notes == ["once"]


@pytest.mark.own_database
async def test_a_worker_that_has_to_stop_leaves_a_result_that_can_not_be_stored_and_its_effect_is_taken_up_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "GIVES_UP_AFTER", timedelta(milliseconds=100))
    notebook = Notebook()
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        await runtime.pool.execute(NO_SPACE)
        await poke(runtime, "told to stop")
        async with asyncio.timeout(10):
            async with working(runtime):
                await until(lambda: notebook.notes)
        assert await states(runtime) == ["running"]
        assert notebook.notes == ["told to stop"]
        await runtime.pool.execute(MAKE_ROOM)
        async with working(runtime):
            assert await settled(runtime) == ["done"]
    # Nobody could be told that it was done, so it is done again under the same id.
    assert notebook.notes == ["told to stop"] * 2


@pytest.mark.own_database
async def test_a_result_is_stored_if_there_is_room_again_before_the_worker_gives_up(settings: Settings) -> None:
    notebook = Notebook()
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        await runtime.pool.execute(NO_SPACE)
        await poke(runtime, "just in time")
        async with working(runtime):
            await until(lambda: notebook.notes)
            making_room = asyncio.create_task(make_room_soon(runtime))
        await making_room
        assert await states(runtime) == ["done"]
    assert notebook.notes == ["just in time"]


async def make_room_soon(runtime: Runtime) -> None:
    await asyncio.sleep(0.5)
    await runtime.pool.execute(MAKE_ROOM)


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize(
    "fault",
    [
        asyncpg.DiskFullError("could not extend file: No space left on device"),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.ReadOnlySQLTransactionError("cannot execute UPDATE in a read-only transaction"),
        asyncpg.InterfaceError("connection is closed"),
        PoolTimeoutError("none of 2 connections was free within 1 seconds"),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_a_reaction_that_can_not_ask_the_database_loses_no_try(settings: Settings, fault: Exception) -> None:
    faults = iter([fault] * 20)

    async def write(_work: Work, _effect: Effect) -> Outcome:
        if (raised := next(faults, None)) is not None:
            raise raised
        return Done()

    async with open_runtime(settings, wiring=wired(write)) as runtime:
        await poke(runtime, "later")
        async with working(runtime):
            assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval(ATTEMPTS) == 1


async def test_a_reaction_whose_connection_is_killed_or_that_finds_nobody_listening_loses_no_try(
    settings: Settings,
) -> None:
    seen: list[int] = []

    async def write(work: Work, _effect: Effect) -> Outcome:
        seen.append(len(seen))
        if len(seen) == 1:
            await work.db.execute("select pg_terminate_backend(pg_backend_pid())")
        if len(seen) == 2:
            await asyncpg.connect("postgresql://postgres@127.0.0.1:1/nowhere")
        return Done()

    async with open_runtime(settings, wiring=wired(write, delays=(timedelta(hours=1),))) as runtime:
        await poke(runtime, "later")
        async with working(runtime):
            assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval(ATTEMPTS) == 1
    assert len(seen) == 3


async def test_a_target_that_refuses_a_connection_loses_a_try(settings: Settings) -> None:
    async def write(_work: Work, effect: Effect) -> Outcome:
        if effect.attempts == 1:
            raise ConnectionRefusedError("Connection refused")
        return Done()

    async with open_runtime(settings, wiring=wired(write)) as runtime:
        await poke(runtime, "later")
        async with working(runtime):
            assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval(ATTEMPTS) == 2
