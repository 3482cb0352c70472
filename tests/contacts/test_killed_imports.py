"""Workers die in the middle of an import, and every line is still imported once."""

import asyncio
from uuid import UUID

import pytest

from openslot.accounts.models import User
from openslot.contacts.import_models import ImportState
from openslot.core.config import Settings
from openslot.core.work import Runtime
from tests.contacts import import_worker
from tests.contacts.conftest import Events
from tests.contacts.import_worker import BATCH
from tests.contacts.importing import counts, read_import, read_people, start
from tests.contacts.test_imports import many
from tests.forked import Forked

pytestmark = pytest.mark.own_database

LINES, KILLS = 25 * BATCH, 2


def start_worker(settings: Settings) -> Forked:
    return Forked(import_worker.run, settings.database_url or "", str(settings.data_dir))


async def test_an_import_ends_right_though_its_worker_is_killed(
    settings: Settings, runtime: Runtime, user: User, events: Events
) -> None:
    text = many(LINES) + f"\nBad,bad\nAgain,PERSON{LINES - 1}@many.example"
    started = await start(runtime, user, text)
    worker = start_worker(settings)
    try:
        for kill in range(KILLS):
            await wait_for(runtime, user, started.id, handled=(kill + 1) * 5 * BATCH)
            worker.kill()
            worker.wait()
            between = await read_import(runtime, user, started.id)
            worker = start_worker(settings)

            assert between.state is ImportState.RUNNING
            assert between.handled < LINES
        await wait_for(runtime, user, started.id, handled=LINES + 2)
    finally:
        worker.terminate()
        worker.wait(20)
    done = await read_import(runtime, user, started.id)

    assert (counts(done), done.handled, done.state) == ((LINES, 0, 0, 2), LINES + 2, ImportState.DONE)
    assert len(await read_people(runtime, user)) == len(await events()) == LINES


async def wait_for(runtime: Runtime, user: User, import_id: UUID, *, handled: int) -> None:
    """Wait until so many lines are handled; a killed worker's job is taken up after some seconds."""
    async with asyncio.timeout(60):
        while (await read_import(runtime, user, import_id)).handled < handled:
            await asyncio.sleep(0.02)
