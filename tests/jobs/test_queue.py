"""The queue: a job is the same row, whoever writes it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest
from pgqueuer.adapters.persistence.qb import QueryQueueBuilder
from pgqueuer.db import AsyncpgDriver

from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.db import Db, Row
from openslot.core.ids import new_id
from openslot.core.queue import ENTRYPOINT, PLANNED, Job, Priority, enqueue
from openslot.core.work import Runtime
from openslot.jobs.worker import beat
from openslot.runtime import open_runtime
from tests.jobs.probes import Notebook, Poked, wired
from tests.support.databases import new_database
from tests.support.effects import WITHIN

# Every column but the number; times as what they are ahead of the transaction's.
JOBS = """
select (to_jsonb(q) - 'id' - 'created' - 'updated' - 'heartbeat' - 'execute_after')::text as columns,
       q.created - now() as created, q.updated - now() as updated, q.heartbeat - now() as heartbeat,
       q.execute_after - now() as after
from pgqueuer q order by id"""


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """A runtime with one reaction, whose effects wait for each other in lanes."""
    async with open_runtime(settings, wiring=wired(Notebook().write, in_lanes=True)) as opened:
        yield opened


@pytest.mark.parametrize("is_planned", [False, True])
async def test_a_job_is_written_as_the_queue_itself_would_write_it(runtime: Runtime, *, is_planned: bool) -> None:
    after = timedelta(seconds=30)
    job = Job(effect_id=new_id(), round=3, after=after, priority=Priority.LATER, is_planned=is_planned)
    async with runtime.transaction(OPERATOR) as work:
        await enqueue(work.db, [job])
        ours = await _take_jobs(work.db)
        await work.db.execute(
            QueryQueueBuilder().build_enqueue_query("skip"),
            [-1],
            [PLANNED if is_planned else ENTRYPOINT],
            [job.pack()],
            [after],
            [f"{job.effect_id}:3"],
            [None],
        )
        assert ours == await _take_jobs(work.db)


async def test_the_job_of_a_recorded_event_is_that_of_the_first_attempt_of_its_effect(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=new_id()))
        recorded = await _take_jobs(work.db)
        await enqueue(work.db, [Job(effect_id=await work.db.fetchval("select id from effects"), round=0)])
        assert recorded == await _take_jobs(work.db)


async def test_an_event_whose_effect_waits_in_its_lane_has_no_job(runtime: Runtime) -> None:
    thing = new_id()
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=thing))
        await work.record(Poked(thing=thing))

    rows = await runtime.pool.fetch(
        "select e.state, q.id from effects e left join pgqueuer q on q.dedupe_key = e.id || ':0'"
    )
    assert sorted((row["state"], row["id"] is not None) for row in rows) == [("queued", True), ("waiting", False)]


async def test_a_job_that_is_in_the_queue_is_not_written_again(runtime: Runtime) -> None:
    first, second = Job(effect_id=new_id(), round=0), Job(effect_id=new_id(), round=0)
    await enqueue(runtime.pool, [first])
    await enqueue(runtime.pool, [first, second])

    keys = await runtime.pool.fetch("select dedupe_key from pgqueuer order by id")
    assert [row["dedupe_key"] for row in keys] == [f"{first.effect_id}:0", f"{second.effect_id}:0"]


async def _take_jobs(db: Db) -> list[Row]:
    rows = await db.fetch(JOBS)
    await db.execute("delete from pgqueuer")
    assert rows
    return [dict(row) for row in rows]


async def test_a_worker_whose_queue_is_in_another_database_stops_and_is_not_ready(
    settings: Settings, postgres: str
) -> None:
    """After a failover the direct address may still lead to the former primary, whose queue nobody fills any more."""
    async with open_runtime(settings, wiring=wired(Notebook().write)) as runtime, new_database(postgres) as former:
        queue = await asyncpg.connect(former)
        with pytest.raises(RuntimeError, match="different databases"):
            await asyncio.wait_for(beat(runtime, new_id(), AsyncpgDriver(queue)), WITHIN)
        await queue.close()

        assert await runtime.pool.fetchval("select count(*) from worker_beats") == 0
