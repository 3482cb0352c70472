"""The database has no space: what was done is not done again, and no try is counted as failed."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from openslot.core.config import Settings
from openslot.core.events import Effect
from openslot.core.work import Done, Outcome, Work
from openslot.jobs import effects
from openslot.runtime import open_runtime
from tests.jobs.probes import Notebook, wired
from tests.jobs.support import poke, settled, states, until
from tests.support.effects import working

REFUSE = """
create function refuse() returns trigger language plpgsql as $$
begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
create trigger refuse before update on effects for each row when (new.state in ('done', 'dead'))
    execute function refuse();
"""
MAKE_ROOM = "drop trigger refuse on effects; drop function refuse"
ATTEMPTS = "select attempts from effects"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have results that could not be stored tried again soon."""
    monkeypatch.setattr(effects, "ROOM_AGAIN_AFTER", timedelta(milliseconds=20))


@pytest.mark.own_database
async def test_what_was_done_is_not_done_again_while_its_result_can_not_be_stored(settings: Settings) -> None:
    notebook = Notebook()
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        await runtime.pool.execute(REFUSE)
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


async def test_a_reaction_that_finds_no_space_loses_no_try(settings: Settings) -> None:
    refusals = iter(range(20))

    async def write(_work: Work, _effect: Effect) -> Outcome:
        if next(refusals, None) is not None:
            raise asyncpg.DiskFullError("could not extend file: No space left on device")
        return Done()

    async with open_runtime(settings, wiring=wired(write)) as runtime:
        await poke(runtime, "later")
        async with working(runtime):
            assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval(ATTEMPTS) == 1
