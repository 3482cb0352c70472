"""Effects: done once, in order, tried again, and never lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import release_held
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.revivals import RevivalVerdict, revive_effects
from openslot.platform.core.work import (
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Reaction,
    Runtime,
    Skipped,
    Target,
    Wiring,
    Work,
)
from openslot.platform.i18n import CodedReason
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import LEAVE_MARK, MARKS, Notebook, Poked, wired
from tests.platform.jobs.support import poke, settled, states, until
from tests.support.effects import working


@asynccontextmanager
async def a_runtime(settings: Settings, wiring: Wiring) -> AsyncIterator[Runtime]:
    """Open a runtime with probes attached."""
    async with open_runtime(settings, wiring=wiring) as runtime:
        yield runtime


async def test_an_effect_happens_and_remembers_the_vendors_id(settings: Settings) -> None:
    notebook = Notebook()
    async with a_runtime(settings, wired(notebook.write)) as runtime, working(runtime):
        await poke(runtime, "hello")

        assert await settled(runtime) == ["done"]
        assert notebook.notes == ["hello"]
        assert await runtime.pool.fetchval("select vendor_id from effects") == "note hello"


async def test_a_rolled_back_change_leaves_neither_event_nor_effect(settings: Settings) -> None:
    async with a_runtime(settings, wired(Notebook().write)) as runtime:
        with suppress(RuntimeError):
            async with runtime.transaction(OPERATOR) as work:
                await work.record(Poked(thing=new_id(), note="never"))
                raise RuntimeError("changed my mind")

        for table in ("events", "effects", "lanes"):
            assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0


async def test_a_failed_effect_is_tried_again_until_it_works(settings: Settings) -> None:
    notebook = Notebook(failures=2)
    async with a_runtime(settings, wired(notebook.write)) as runtime, working(runtime):
        await poke(runtime, "third time")

        assert await settled(runtime) == ["done"]
        assert await runtime.pool.fetchval("select attempts from effects") == 3


async def test_after_the_last_try_an_effect_is_kept_as_dead_and_can_be_revived(settings: Settings) -> None:
    notebook = Notebook(failures=4)
    async with a_runtime(settings, wired(notebook.write)) as runtime, working(runtime):
        await poke(runtime, "stubborn")
        assert await settled(runtime) == ["dead"]
        row = await runtime.pool.fetchrow("select id, attempts, last_error from effects")
        assert row is not None
        assert (row["attempts"], row["last_error"]) == (4, "RuntimeError: no pencil for stubborn")

        (revival,) = await revive_effects(runtime.work(SYSTEM), [row["id"]])

        assert revival.verdict is RevivalVerdict.QUEUED

        assert await settled(runtime) == ["done"]


async def test_what_is_not_dead_is_not_revived(settings: Settings) -> None:
    async with a_runtime(settings, wired(Notebook().write)) as runtime, working(runtime):
        await poke(runtime, "fine")
        await settled(runtime)
        effect_id = await runtime.pool.fetchval("select id from effects")

        assert await revive_effects(runtime.work(SYSTEM), [effect_id]) == []


async def test_giving_up_needs_no_further_try(settings: Settings) -> None:
    async def give_up(work: Work, effect: Effect) -> Outcome:
        del work, effect
        raise GiveUp("410 Gone")

    async with a_runtime(settings, wired(give_up)) as runtime, working(runtime):
        await poke(runtime, "gone")

        assert await settled(runtime) == ["dead"]
        assert await runtime.pool.fetchval("select attempts from effects") == 1


async def test_a_lane_keeps_its_order_even_when_the_first_fails(settings: Settings) -> None:
    notebook = Notebook(failures=2)
    thing = new_id()
    async with a_runtime(settings, wired(notebook.write, in_lanes=True)) as runtime:
        for note in ("created", "moved", "cancelled"):
            await poke(runtime, note, thing=thing)
        assert await states(runtime) == ["queued", "waiting", "waiting"]

        async with working(runtime):
            assert await settled(runtime) == ["done"] * 3
        assert notebook.notes == ["created", "moved", "cancelled"]


async def test_lanes_do_not_wait_for_each_other(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    async with a_runtime(settings, wired(notebook.write, in_lanes=True, delays=(timedelta(hours=1),))) as runtime:
        await poke(runtime, "stuck")
        async with working(runtime):
            await until(lambda: notebook.failures == 0)
            await poke(runtime, "free")
            await until(lambda: notebook.notes == ["free"])
        assert await states(runtime) == ["queued", "done"]


async def test_a_dead_effect_frees_its_lane(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    thing = new_id()
    async with a_runtime(settings, wired(notebook.write, in_lanes=True, delays=())) as runtime, working(runtime):
        await poke(runtime, "dies", thing=thing)
        await poke(runtime, "lives", thing=thing)

        assert await settled(runtime) == ["dead", "done"]


async def test_a_collapsing_lane_passes_over_all_but_the_newest(settings: Settings) -> None:
    notebook = Notebook()
    thing = new_id()
    async with a_runtime(settings, wired(notebook.write, in_lanes=True, collapses=True)) as runtime:
        for note in ("created", "moved", "moved again", "cancelled"):
            await poke(runtime, note, thing=thing)
        async with working(runtime):
            assert await settled(runtime) == ["done", "skipped", "skipped", "done"]
        assert notebook.notes == ["created", "cancelled"]
        assert await runtime.pool.fetchval("select unfinished from lanes") == 0


@pytest.mark.rest("waits for seconds")
async def test_a_lane_holds_the_next_back_no_longer_than_its_reaction_allows(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    thing = new_id()
    wiring = wired(notebook.write, in_lanes=True, delays=(timedelta(hours=1),), holds_back=timedelta(minutes=5))
    async with a_runtime(settings, wiring) as runtime, working(runtime):
        await poke(runtime, "failing", thing=thing)
        await poke(runtime, "held", thing=thing)
        await until(lambda: notebook.failures == 0)
        async with runtime.transaction(SYSTEM) as work:
            assert await release_held(work.db, now=work.now + timedelta(minutes=4)) == (0, False)
            await work.db.execute("update effects set hold_until = hold_until - interval '6 minutes'")
            assert await release_held(work.db, now=work.now) == (1, False)

        await until(lambda: notebook.notes == ["held"])


async def test_an_effect_fans_out_into_one_per_target_in_order(settings: Settings) -> None:
    notebook = Notebook()
    seen: list[str] = []

    async def fan_out(work: Work, effect: Effect) -> Outcome:
        del work
        thing = effect.event(Poked).thing
        targets = (Target(reaction="probe.deliver", target=name, lane=f"{thing}@{name}") for name in ("a", "b"))
        return Expanded(tuple(targets))

    async def deliver(work: Work, effect: Effect) -> Outcome:
        seen.append(f"{effect.target} {effect.event(Poked).note}")
        return await notebook.write(work, effect)

    wiring = wired(fan_out, in_lanes=True, more=(Reaction(name="probe.deliver", run=deliver),))
    thing = new_id()
    async with a_runtime(settings, wiring) as runtime, working(runtime):
        for note in ("one", "two", "three"):
            await poke(runtime, note, thing=thing)
        assert await settled(runtime) == ["done"] * 9

    for target in ("a", "b"):
        assert [entry for entry in seen if entry.startswith(target)] == [
            f"{target} {n}" for n in ("one", "two", "three")
        ]


async def test_what_is_written_when_done_is_there_with_it_or_not_at_all(settings: Settings) -> None:
    async def write(work: Work) -> None:
        await work.db.execute(LEAVE_MARK, "half")
        raise RuntimeError("no ink")

    async def run(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Done(write=write)

    async with a_runtime(settings, wired(run)) as runtime, working(runtime):
        await poke(runtime, "half")

        assert await settled(runtime) == ["dead"]
        assert await runtime.pool.fetchval(MARKS) == 0
        assert await runtime.pool.fetchval("select last_error from effects") == "RuntimeError: no ink"


async def test_an_effect_that_takes_every_worker_down_is_buried(settings: Settings) -> None:
    notebook = Notebook()
    async with a_runtime(settings, wired(notebook.write)) as runtime:
        await poke(runtime, "poison")
        await runtime.pool.execute("update effects set attempts = 8, state = 'running'")
        async with working(runtime):
            assert await settled(runtime) == ["dead"]
        assert notebook.notes == []


async def test_a_skipped_effect_says_why(settings: Settings) -> None:
    async def skip(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Skipped(CodedReason("test.over", "the meeting is over"))

    async with a_runtime(settings, wired(skip)) as runtime, working(runtime):
        await poke(runtime, "late")

        assert await settled(runtime) == ["skipped"]
        assert await runtime.pool.fetchval("select last_error from effects") == "test.over"


async def test_writers_of_one_lane_never_both_head_it(settings: Settings) -> None:
    thing = new_id()
    async with a_runtime(settings, wired(Notebook().write, in_lanes=True)) as runtime:
        await asyncio.gather(*(poke(runtime, str(n), thing=thing) for n in range(40)))

        assert sorted(await states(runtime)) == ["queued"] + ["waiting"] * 39


async def test_a_stopping_worker_finishes_what_it_has_begun(settings: Settings) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def dawdle(work: Work, effect: Effect) -> Outcome:
        del work, effect
        began.set()
        await may_end.wait()
        return Done()

    async with a_runtime(settings, wired(dawdle)) as runtime:
        await poke(runtime, "slow")
        async with working(runtime):
            await until(began.is_set)
            # By then the worker was told to stop.
            asyncio.get_running_loop().call_later(0.5, may_end.set)
        assert await states(runtime) == ["done"]
        assert await runtime.pool.fetchval("select count(*) from worker_beats") == 0


async def test_the_lane_is_made_of_what_it_happened_to(settings: Settings) -> None:
    thing = new_id()
    async with a_runtime(settings, wired(Notebook().write, in_lanes=True)) as runtime:
        await poke(runtime, "first", thing=thing)
        assert await runtime.pool.fetchval("select lane from effects") == f"probe:thing:{thing}"
