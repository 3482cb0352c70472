"""What keeps queue and effects in order: in small batches, without waiting for anybody, and never more than it may."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.db import transaction
from openslot.platform.core.effects import release_held
from openslot.platform.core.events import NewEffect, insert_effects
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import Batch, repeat, walk
from openslot.platform.jobs.periodic import run_job, run_periodic
from openslot.platform.jobs.places import ALL_SLOW_PLACES, AT_THIS_TARGET, OF_THIS_OWNER
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.platform.jobs.probes import LEAVE_MARK, MARKS, Notebook, Poked, wired
from tests.platform.jobs.support import forget_run

SWEEP, TIDY = (next(job for job in WIRING.periodic if job.name == name) for name in ("effects.sweep", "queue.tidy"))


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """A runtime whose one reaction runs in lanes and holds the next one back for five minutes."""
    wiring = wired(Notebook().write, in_lanes=True, holds_back=timedelta(minutes=5))
    async with open_runtime(settings, wiring=wiring) as opened:
        yield opened


async def test_batches_go_on_until_one_is_not_full() -> None:
    left = [7]

    async def remove(limit: int) -> int:
        removed = min(limit, left[0])
        left[0] -= removed
        return removed

    assert await repeat(remove, size=3) == 7
    left[0] = 100
    assert await repeat(remove, size=3, max_=5) == 15


async def test_a_walk_goes_to_the_end_and_counts_only_what_changes() -> None:
    seen: list[int] = []

    async def step(place: int) -> Batch[int]:
        seen.append(place)
        return Batch(place % 2, place + 1 if place < 9 else None)

    assert await walk(step, 0) == 5
    assert seen == list(range(10))
    seen.clear()
    assert await walk(step, 0, max_=2) == 2
    assert seen == [0, 1, 2, 3]


async def test_a_job_without_a_transaction_keeps_what_it_did_before_it_failed(runtime: Runtime) -> None:
    async def half(work: Work) -> str:
        await work.db.execute(LEAVE_MARK, "kept")
        async with work.runtime.transaction(SYSTEM) as own:
            await own.db.execute(LEAVE_MARK, "kept, too")
        raise RuntimeError("out of paper")

    async def whole(work: Work) -> str:
        await work.db.execute(LEAVE_MARK, "lost")
        raise RuntimeError("out of paper")

    for job in (
        Periodic(name="half", expression="* * * * *", run=half, transaction="none"),
        Periodic(name="whole", expression="* * * * *", run=whole),
    ):
        await forget_run(runtime, job)
        await run_periodic(runtime, job)

    assert await runtime.pool.fetchval(MARKS) == 2
    rows = await runtime.pool.fetch("select status, result from periodic_runs")
    assert {(row["status"], row["result"]) for row in rows} == {("failed", "RuntimeError: out of paper")}


async def fill_lanes(runtime: Runtime, *, lanes: int, each: int) -> None:
    """Let several things happen to several subjects, of which the first has begun."""
    async with runtime.transaction(OPERATOR) as work:
        for thing in [new_id() for _ in range(lanes)]:
            await work.record(*(Poked(thing=thing, note=str(n)) for n in range(each)))


async def count(runtime: Runtime, state: str) -> int:
    found: int = await runtime.pool.fetchval("select count(*) from effects where state = $1", state)
    return found


async def test_held_effects_are_let_go_in_batches_one_of_each_lane(runtime: Runtime) -> None:
    await fill_lanes(runtime, lanes=7, each=4)
    assert (await count(runtime, "queued"), await count(runtime, "waiting")) == (7, 21)
    later = runtime.clock() + timedelta(minutes=6)
    has_more, released = True, 0
    async with runtime.transaction(SYSTEM) as work:
        while has_more:
            number, has_more = await release_held(work.db, now=later, limit=4)
            released += number

    assert released == 7
    first = await runtime.pool.fetch(
        """select v.fact::jsonb ->> 'note' as note from effects f join events v on v.id = f.event_id
        where f.next_try_at = $1""",
        later,
    )
    assert [row["note"] for row in first] == ["1"] * 7
    async with runtime.transaction(SYSTEM) as work:
        assert await release_held(work.db, now=later) == (0, False), "the others wait for the next run"
        assert await release_held(work.db, now=later + timedelta(minutes=1)) == (7, False)


async def test_a_held_effect_that_somebody_is_at_is_neither_waited_for_nor_overtaken(runtime: Runtime) -> None:
    await fill_lanes(runtime, lanes=2, each=3)
    later = runtime.clock() + timedelta(minutes=6)
    head = await runtime.pool.fetchval("select id from effects where state = 'waiting' order by no limit 1")
    async with transaction(runtime.pool) as other:
        await other.execute("select from effects where id = $1 for update", head)
        async with asyncio.timeout(60), runtime.transaction(SYSTEM) as work:
            assert await release_held(work.db, now=later) == (1, False)

    async with runtime.transaction(SYSTEM) as work:
        assert await release_held(work.db, now=later + timedelta(minutes=1)) == (2, False)
    assert await runtime.pool.fetchval("select state from effects where id = $1", head) == "queued"


async def test_an_empty_lane_is_removed_unless_somebody_is_joining_it(runtime: Runtime) -> None:
    await runtime.pool.execute("insert into lanes values ('x', 0), ('y', 0), ('z', 1)")
    reaction = runtime.wiring.reactions[0]
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=new_id()))
        event_id = await work.db.fetchval("select id from events")
        await insert_effects(work.db, [NewEffect(event_id, reaction, lane="y")], now=work.now)
        async with asyncio.timeout(60):
            assert await run_job(runtime, TIDY) == "1 lanes removed"

    rows = await runtime.pool.fetch("select lane, unfinished from lanes where length(lane) = 1 order by 1")
    assert {row["lane"]: row["unfinished"] for row in rows} == {"y": 1, "z": 1}
    assert await run_job(runtime, TIDY) == "0 lanes removed"


async def test_jobs_that_no_version_has_any_more_are_forgotten(runtime: Runtime) -> None:
    now = runtime.clock()
    for name, age in (("long gone", 31), ("of the version before", 29)):
        await runtime.pool.execute(
            "insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status) "
            "values ($1, '* * * * *', $2, $2, 0, 'ok')",
            name,
            now - timedelta(days=age),
        )
    await run_job(runtime, TIDY)

    assert await runtime.pool.fetchval("select array_agg(name) from periodic_runs") == ["of the version before"]


PUT_OFF = """
insert into effects (id, reaction, key, state, next_try_at, yields, worker_id, attempts, last_error, created_at)
values ($1, 'probe.write', $2, 'queued', now() + interval '9 minutes', true, $3, 0, $4, now() - $5::interval)"""
ALIVE = """
insert into worker_beats (worker_id, host, pid, started_at, beat_at) values ($1, 'h', 1, now(), now() - $2::interval)"""
DUE_NOW = "select key from effects where key is not null and next_try_at <= now() order by key"
NOW, LONG_AGO = timedelta(), timedelta(hours=1)


async def test_what_a_worker_put_off_is_called_by_others_once_it_is_gone_and_nothing_else_is(runtime: Runtime) -> None:
    """It is the only one that would have called it before its turn, which may be ten minutes away."""
    living, gone, deleted = (new_id() for _ in range(3))
    for each, ago in ((living, NOW), (gone, LONG_AGO)):
        await runtime.pool.execute(ALIVE, each, ago)
    for key, worker_id, reason, age in (
        ("of a living worker", living, AT_THIS_TARGET, LONG_AGO),
        ("of one that is gone", gone, AT_THIS_TARGET, NOW),
        ("of one that has ended", deleted, ALL_SLOW_PLACES, NOW),
        ("that has failed", gone, "TimeoutError: ", LONG_AGO),
        ("whose target asked for it", gone, "429: try again in 300 s", LONG_AGO),
        ("planned before all workers", None, OF_THIS_OWNER, LONG_AGO),
        ("planned by a living one", None, OF_THIS_OWNER, -timedelta(minutes=1)),
    ):
        await runtime.pool.execute(PUT_OFF, new_id(), key, worker_id, reason, age)

    assert await run_job(runtime, SWEEP) == "3 released"

    called = [row["key"] for row in await runtime.pool.fetch(DUE_NOW)]
    assert called == ["of one that has ended", "of one that is gone", "planned before all workers"]
