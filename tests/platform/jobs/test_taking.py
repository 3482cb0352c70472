"""Taking effects: what is due is started once, whoever asks, and what a worker leaves is taken up by another."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.db import transaction
from openslot.platform.core.effects import take_abandoned, take_effects
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Done, Outcome, Runtime, Work
from openslot.platform.jobs.worker import TWO_DATABASES, Worker, run_worker
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Notebook, wired
from tests.platform.jobs.support import poke, settled, states, until
from tests.support.databases import new_database
from tests.support.effects import WITHIN, working

BEAT = "insert into worker_beats values ($1, 'h', 1, now(), now() + $2::interval)"
NOW = timedelta()


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """A runtime with one reaction and no worker."""
    async with open_runtime(settings, wiring=wired(Notebook().write)) as opened:
        yield opened


async def take(runtime: Runtime, worker_id: UUID | None = None, *, limit: int = 10) -> list[Effect]:
    taken, _ = await take_effects(runtime.pool, worker_id or new_id(), now=runtime.clock(), limit=limit)
    return taken


async def take_left(runtime: Runtime, worker_id: UUID | None = None, *, running: tuple[UUID, ...] = ()) -> list[Effect]:
    now = runtime.clock()
    return await take_abandoned(runtime.pool, worker_id or new_id(), now=now, limit=10, running=running)


async def test_those_that_have_been_due_for_longest_are_taken_first_and_the_next_due_time_is_told(
    runtime: Runtime,
) -> None:
    for note in "abcd":
        await poke(runtime, note)
    now = runtime.clock()
    await runtime.pool.execute("update effects set next_try_at = $1::timestamptz + (2.5 - no) * interval '1 min'", now)
    due_at = await runtime.pool.fetchval("select min(next_try_at) from effects where next_try_at > $1", now)
    for _ in range(2):
        taken, next_at = await take_effects(runtime.pool, new_id(), now=now, limit=1)
        assert (len(taken), next_at) == (1, due_at)
    assert await states(runtime) == ["queued", "queued", "running", "running"]
    assert await take(runtime) == []


async def test_many_who_ask_at_once_never_get_the_same(runtime: Runtime) -> None:
    for number in range(60):
        await poke(runtime, str(number))
    taken = [effect.id for batch in await asyncio.gather(*(take(runtime) for _ in range(12))) for effect in batch]
    while more := await take(runtime):
        taken += [effect.id for effect in more]
    assert len(taken) == len(set(taken)) == 60


async def test_what_one_is_just_taking_another_does_not_get(runtime: Runtime) -> None:
    await poke(runtime, "wanted")
    async with transaction(runtime.pool) as other:
        first, _ = await take_effects(other, new_id(), now=runtime.clock(), limit=10)
        asking = asyncio.create_task(take(runtime))
        # Whoever would get it too waits for the first one's commit.
        await asyncio.wait({asking}, timeout=1)
    assert (len(first), len(await asking)) == (1, 0)


async def test_nobody_waits_for_an_effect_that_somebody_is_at(runtime: Runtime) -> None:
    for note in "ab":
        await poke(runtime, note)
    async with transaction(runtime.pool) as other:
        locked = await other.fetchval("select id from effects order by no limit 1 for update")
        async with asyncio.timeout(WITHIN):
            assert [effect.id != locked for effect in await take(runtime)] == [True]


@pytest.mark.parametrize(
    ("seen", "is_left"),
    [
        (NOW, False),
        (timedelta(seconds=-5), False),
        (timedelta(minutes=-1), True),
        (timedelta(days=1), True),
        (None, True),
    ],
    ids=["beats", "has just beaten", "is dead", "beat before the clock was set back", "has stopped"],
)
async def test_what_a_worker_runs_is_taken_up_only_when_it_is_dead(
    runtime: Runtime, seen: timedelta | None, is_left: bool
) -> None:
    worker_id = new_id()
    await poke(runtime, "held")
    (held,) = await take(runtime, worker_id)
    if seen is not None:
        await runtime.pool.execute(BEAT, worker_id, seen)

    left = await take_left(runtime)
    assert [(effect.id, effect.attempts) for effect in left] == ([(held.id, 2)] if is_left else [])


async def test_a_worker_takes_up_what_it_has_taken_and_does_not_run(runtime: Runtime) -> None:
    """The answer to its statement was lost with the connection, or the result of the effect was."""
    worker_id = new_id()
    await runtime.pool.execute(BEAT, worker_id, NOW)
    for note in "ab":
        await poke(runtime, note)
    running, lost = await take(runtime, worker_id)
    assert [effect.id for effect in await take_left(runtime, worker_id, running=(running.id,))] == [lost.id]


losses: list[str] = []


async def lose(*_: object, **__: object) -> None:
    losses.append("lost")
    raise asyncpg.ConnectionDoesNotExistError("the connection is gone")


@pytest.mark.rest("waits for seconds")
async def test_a_result_is_stored_when_the_database_is_back_and_nothing_is_done_again(settings: Settings) -> None:
    notebook = Notebook()
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        worker, stop = Worker(runtime), asyncio.Event()
        task = asyncio.create_task(worker.work(stop))
        await poke(runtime, "lost")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("openslot.platform.jobs.effects.finish_effects", lose)
            patch.setattr("openslot.platform.jobs.effects.postpone_effect", lose)
            await until(lambda: len(losses) > 1)
        assert await settled(runtime) == ["done"]
        stop.set()
        await task
        assert await runtime.pool.fetchval("select attempts from effects") == 1
        assert notebook.notes == ["lost"]


async def test_a_worker_that_is_told_to_stop_finishes_what_it_runs_and_takes_no_more(settings: Settings) -> None:
    notebook = Notebook()
    notebook.pause = 0.5
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime:
        stop = asyncio.Event()
        task = asyncio.create_task(run_worker(runtime, stop))
        await poke(runtime, "begun")
        async with asyncio.timeout(WITHIN):
            while await states(runtime) != ["running"]:
                await asyncio.sleep(0.01)
        stop.set()
        await poke(runtime, "later")
        await task
        assert await states(runtime) == ["done", "queued"]
        assert await runtime.pool.fetchval("select count(*) from worker_beats") == 0


async def test_a_worker_runs_more_than_it_takes_at_once_and_never_more_than_its_places(settings: Settings) -> None:
    inside = most = 0

    async def count(work: Work, effect: Effect) -> Outcome:
        nonlocal inside, most
        del work, effect
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.05)
        inside -= 1
        return Done()

    few = replace(settings, worker_concurrency=7)
    async with open_runtime(few, wiring=wired(count)) as runtime:
        for number in range(40):
            await poke(runtime, str(number))
        async with working(runtime):
            assert await settled(runtime) == ["done"] * 40
    assert 3 < most <= 7


@pytest.mark.rest("waits for seconds")
async def test_without_a_notice_work_is_found_by_looking(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    monkeypatch.setattr("openslot.platform.jobs.worker.CHANNEL", "a_channel_that_nobody_notifies")
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime, working(runtime):
        await asyncio.sleep(0.2)
        await poke(runtime, "quiet")
        await until(lambda: notebook.notes == ["quiet"])


async def test_a_notice_wakes_a_worker_at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    monkeypatch.setattr("openslot.platform.jobs.worker.LOOK_EVERY", timedelta(hours=1))
    async with open_runtime(settings, wiring=wired(notebook.write)) as runtime, working(runtime):
        for count in (1, 2):
            await asyncio.sleep(0.2)
            await poke(runtime, str(count))
            await until(partial(lambda wanted: len(notebook.notes) == wanted, count))


async def test_a_worker_whose_addresses_lead_to_two_databases_stops_and_is_not_ready(
    settings: Settings, postgres: str
) -> None:
    """After a failover the direct address may still lead to the former primary, where nobody notifies any more."""
    async with new_database(postgres) as former:
        torn = replace(settings, direct_database_url=former)
        async with open_runtime(torn, wiring=wired(Notebook().write)) as runtime:
            with pytest.raises(RuntimeError, match=TWO_DATABASES):
                await asyncio.wait_for(Worker(runtime).work(asyncio.Event()), WITHIN)
            assert await runtime.pool.fetchval("select count(*) from worker_beats") == 0
