"""Nothing is lost: workers die at any moment, and every effect still happens once."""

import asyncio
import random

import pytest

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.platform.jobs import probe_worker
from tests.platform.jobs.probes import Notebook, Poked, wired
from tests.support.forked import Forked
from tests.support.parts import LONG, how_many

pytestmark = pytest.mark.own_database

THINGS, NOTES, KILLS = 20, 6, how_many(8)
TAKEN_UP_WITHIN = 30
if LONG:
    THINGS, NOTES, KILLS = 100, 10, 100


def start_worker(settings: Settings) -> Forked:
    return Forked(probe_worker.run, settings.database_url or "", str(settings.data_dir))


async def record_notes(runtime: Runtime) -> None:
    things = [new_id() for _ in range(THINGS)]
    for number in range(NOTES):
        for place, thing in enumerate(things):
            async with runtime.transaction(OPERATOR) as work:
                await work.record(Poked(thing=thing, note=f"{place:03} {number:03}"))


async def count(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from notes"))


async def test_every_effect_happens_once_and_in_order_though_workers_are_killed(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired(Notebook().write, in_lanes=True)) as runtime:
        await runtime.pool.execute("create table notes (no serial, note text, effect_id uuid)")
        await runtime.pool.execute("create table began (note text)")
        workers = [start_worker(settings), start_worker(settings)]
        try:
            recording = asyncio.create_task(record_notes(runtime))
            for _ in range(KILLS):
                await asyncio.sleep(random.uniform(0.3, 1.0))
                victim = random.choice(workers)
                victim.kill()
                victim.wait()
                workers[workers.index(victim)] = start_worker(settings)
            await recording
            async with asyncio.timeout(120 + THINGS * NOTES * 0.1):
                while await count(runtime) < THINGS * NOTES:
                    await asyncio.sleep(0.2)
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait(60)

        notes = [row["note"] for row in await runtime.pool.fetch("select note from notes order by no")]
        states = await runtime.pool.fetch("select state, count(*) as n from effects group by state")
        assert sorted(notes) == [f"{place:03} {number:03}" for place in range(THINGS) for number in range(NOTES)]
        for place in range(THINGS):
            assert [note for note in notes if note.startswith(f"{place:03}")] == sorted(
                note for note in notes if note.startswith(f"{place:03}")
            )
        assert {row["state"]: row["n"] for row in states} == {"done": THINGS * NOTES}


@pytest.mark.rest("waits until a dead worker counts as dead")
async def test_what_a_killed_worker_held_is_taken_up_by_another_within_30_seconds(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired(Notebook().write, in_lanes=True)) as runtime:
        await runtime.pool.execute("create table notes (no serial, note text, effect_id uuid)")
        await runtime.pool.execute("create table began (note text)")
        async with runtime.transaction(OPERATOR) as work:
            await work.record(Poked(thing=new_id(), note="stuck"))
        victim = start_worker(settings)
        async with asyncio.timeout(60):
            while not await runtime.pool.fetchval("select count(*) from began"):
                await asyncio.sleep(0.05)
        heir = start_worker(settings)
        try:
            async with asyncio.timeout(60):
                while await runtime.pool.fetchval("select count(*) from worker_beats") < 2:
                    await asyncio.sleep(0.05)
            victim.kill()
            victim.wait()
            async with asyncio.timeout(TAKEN_UP_WITHIN):
                while not await count(runtime):
                    await asyncio.sleep(0.1)
        finally:
            heir.terminate()
            heir.wait(60)
        assert await runtime.pool.fetchval("select count(*) from began") == 2
        assert await runtime.pool.fetchval("select attempts from effects") == 2
