"""Workers die in the middle of an import, and every line is still imported once."""

import asyncio

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts.imports.models import ImportState
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.contacts import import_worker
from tests.domains.contacts.conftest import Events
from tests.domains.contacts.import_worker import BATCH, BATCHES_BEFORE_DEATH, Death
from tests.support.contact_imports import counts, many, read_import, read_people, start
from tests.support.forked import Forked

pytestmark = [
    pytest.mark.own_database,
    pytest.mark.rest("kills a worker: one test in make test does"),
]

LINES = 8 * BATCH
# How many batches are committed when the worker is dead.
DEATHS: dict[Death, int] = {
    "before the commit": BATCHES_BEFORE_DEATH,
    "after the commit": 2 * BATCHES_BEFORE_DEATH + 1,
}
WITHIN = 60


def start_worker(settings: Settings, death: Death) -> Forked:
    return Forked(import_worker.run, settings.database_url or "", str(settings.data_dir), death)


async def test_an_import_ends_right_though_its_worker_is_killed(
    settings: Settings, runtime: Runtime, user: User, events: Events
) -> None:
    text = many(LINES) + f"\nBad,bad\nAgain,PERSON{LINES - 1}@many.example"
    started = await start(runtime, user, text)
    for death, batches in DEATHS.items():
        await asyncio.to_thread(start_worker(settings, death).wait, WITHIN)
        between = await read_import(runtime, user, started.id)

        assert (between.state, between.handled) == (ImportState.RUNNING, batches * BATCH), death
    worker = start_worker(settings, "never")
    try:
        async with asyncio.timeout(WITHIN):
            while (done := await read_import(runtime, user, started.id)).state is not ImportState.DONE:
                await asyncio.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait(20)

    assert (counts(done), done.handled) == ((LINES, 0, 0, 2), LINES + 2)
    assert len(await read_people(runtime, user)) == len(await events()) == LINES
