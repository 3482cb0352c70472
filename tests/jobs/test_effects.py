"""Effects: done once, in order, tried again, and never lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

from openslot.core.actor import OPERATOR, SYSTEM
from openslot.core.config import Settings
from openslot.core.effects import enqueue_forgotten, release_held
from openslot.core.events import Done, Effect, Expanded, GiveUp, Outcome, Reaction, Skipped, Target, Wiring
from openslot.core.ids import new_id
from openslot.core.revivals import Verdict, revive_effects
from openslot.core.work import House, Work
from openslot.house import open_house
from openslot.jobs.worker import run_worker
from tests.jobs.probes import Notebook, Poked, thing_lane, wired

WITHIN = 20.0


@asynccontextmanager
async def a_house(settings: Settings, wiring: Wiring) -> AsyncIterator[House]:
    """Open a house with probes attached."""
    async with open_house(settings, wiring=wiring) as house:
        yield house


@asynccontextmanager
async def working(house: House) -> AsyncIterator[None]:
    """Keep a worker running."""
    stop = asyncio.Event()
    task = asyncio.create_task(run_worker(house, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, WITHIN)


async def poke(house: House, note: str, *, thing: UUID | None = None) -> None:
    async with house.writing(OPERATOR) as work:
        await work.record(Poked(thing=thing or new_id(), note=note))


async def states(house: House) -> list[str]:
    return [row["state"] for row in await house.pool.fetch("select state from effects order by no")]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():
            await asyncio.sleep(0.01)


async def settled(house: House) -> list[str]:
    """Wait until nothing is left to do."""
    async with asyncio.timeout(WITHIN):
        while {"waiting", "queued", "running"} & set(now := await states(house)):
            await asyncio.sleep(0.01)
    return now


async def test_an_effect_happens_and_remembers_the_vendors_id(settings: Settings) -> None:
    notebook = Notebook()
    async with a_house(settings, wired(notebook.write)) as house, working(house):
        await poke(house, "hello")

        assert await settled(house) == ["done"]
        assert notebook.notes == ["hello"]
        assert await house.pool.fetchval("select vendor_id from effects") == "note hello"


async def test_a_rolled_back_change_leaves_neither_event_nor_effect_nor_job(settings: Settings) -> None:
    async with a_house(settings, wired(Notebook().write)) as house:
        with suppress(RuntimeError):
            async with house.writing(OPERATOR) as work:
                await work.record(Poked(thing=new_id(), note="never"))
                raise RuntimeError("changed my mind")

        for table in ("events", "effects", "lanes", "pgqueuer"):
            assert await house.pool.fetchval(f"select count(*) from {table}") == 0


async def test_a_failed_effect_is_tried_again_until_it_works(settings: Settings) -> None:
    notebook = Notebook(failures=2)
    async with a_house(settings, wired(notebook.write)) as house, working(house):
        await poke(house, "third time")

        assert await settled(house) == ["done"]
        assert await house.pool.fetchval("select attempts from effects") == 3


async def test_after_the_last_try_an_effect_is_kept_as_dead_and_can_be_revived(settings: Settings) -> None:
    notebook = Notebook(failures=4)
    async with a_house(settings, wired(notebook.write)) as house, working(house):
        await poke(house, "stubborn")
        assert await settled(house) == ["dead"]
        row = await house.pool.fetchrow("select id, attempts, last_error from effects")
        assert row is not None
        assert (row["attempts"], row["last_error"]) == (4, "RuntimeError: no pencil for stubborn")

        (revival,) = await revive_effects(house.reading(SYSTEM), [row["id"]])

        assert revival.verdict is Verdict.QUEUED

        assert await settled(house) == ["done"]


async def test_what_is_not_dead_is_not_revived(settings: Settings) -> None:
    async with a_house(settings, wired(Notebook().write)) as house, working(house):
        await poke(house, "fine")
        await settled(house)
        effect_id = await house.pool.fetchval("select id from effects")

        assert await revive_effects(house.reading(SYSTEM), [effect_id]) == []


async def test_giving_up_needs_no_further_try(settings: Settings) -> None:
    async def give_up(work: Work, effect: Effect) -> Outcome:
        del work, effect
        raise GiveUp("410 Gone")

    async with a_house(settings, wired(give_up)) as house, working(house):
        await poke(house, "gone")

        assert await settled(house) == ["dead"]
        assert await house.pool.fetchval("select attempts from effects") == 1


async def test_a_lane_keeps_its_order_even_when_the_first_fails(settings: Settings) -> None:
    notebook = Notebook(failures=2)
    thing = new_id()
    async with a_house(settings, wired(notebook.write, in_lanes=True)) as house:
        for note in ("created", "moved", "cancelled"):
            await poke(house, note, thing=thing)
        assert await states(house) == ["queued", "waiting", "waiting"]

        async with working(house):
            assert await settled(house) == ["done"] * 3
        assert notebook.notes == ["created", "moved", "cancelled"]


async def test_lanes_do_not_wait_for_each_other(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    async with a_house(settings, wired(notebook.write, in_lanes=True, delays=(timedelta(hours=1),))) as house:
        await poke(house, "stuck")
        async with working(house):
            await until(lambda: notebook.failures == 0)
            await poke(house, "free")
            await until(lambda: notebook.notes == ["free"])
        assert await states(house) == ["queued", "done"]


async def test_a_dead_effect_frees_its_lane(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    thing = new_id()
    async with a_house(settings, wired(notebook.write, in_lanes=True, delays=())) as house, working(house):
        await poke(house, "dies", thing=thing)
        await poke(house, "lives", thing=thing)

        assert await settled(house) == ["dead", "done"]


async def test_a_collapsing_lane_passes_over_all_but_the_newest(settings: Settings) -> None:
    notebook = Notebook()
    thing = new_id()
    async with a_house(settings, wired(notebook.write, in_lanes=True, collapses=True)) as house:
        for note in ("created", "moved", "moved again", "cancelled"):
            await poke(house, note, thing=thing)
        async with working(house):
            assert await settled(house) == ["done", "skipped", "skipped", "done"]
        assert notebook.notes == ["created", "cancelled"]
        assert await house.pool.fetchval("select unfinished from lanes") == 0


async def test_a_lane_holds_the_next_back_no_longer_than_its_reaction_allows(settings: Settings) -> None:
    notebook = Notebook(failures=1)
    thing = new_id()
    wiring = wired(notebook.write, in_lanes=True, delays=(timedelta(hours=1),), holds_back=timedelta(minutes=5))
    async with a_house(settings, wiring) as house, working(house):
        await poke(house, "failing", thing=thing)
        await poke(house, "held", thing=thing)
        await until(lambda: notebook.failures == 0)
        async with house.writing(SYSTEM) as work:
            assert await release_held(work.db, now=work.now + timedelta(minutes=4)) == (0, False)
            assert await release_held(work.db, now=work.now + timedelta(minutes=6)) == (1, False)

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
    async with a_house(settings, wiring) as house, working(house):
        for note in ("one", "two", "three"):
            await poke(house, note, thing=thing)
        assert await settled(house) == ["done"] * 9

    for target in ("a", "b"):
        assert [entry for entry in seen if entry.startswith(target)] == [
            f"{target} {n}" for n in ("one", "two", "three")
        ]


async def test_what_is_written_when_done_is_there_with_it_or_not_at_all(settings: Settings) -> None:
    async def write(work: Work) -> None:
        await work.db.execute("create table marks (id int)")
        raise RuntimeError("no ink")

    async def run(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Done(write=write)

    async with a_house(settings, wired(run)) as house, working(house):
        await poke(house, "half")

        assert await settled(house) == ["dead"]
        assert await house.pool.fetchval("select to_regclass('marks') is null")
        assert await house.pool.fetchval("select last_error from effects") == "RuntimeError: no ink"


async def test_an_effect_that_takes_every_worker_down_is_buried(settings: Settings) -> None:
    notebook = Notebook()
    async with a_house(settings, wired(notebook.write)) as house:
        await poke(house, "poison")
        await house.pool.execute("update effects set attempts = 8, state = 'running'")
        async with working(house):
            assert await settled(house) == ["dead"]
        assert notebook.notes == []


async def test_a_skipped_effect_says_why(settings: Settings) -> None:
    async def skip(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Skipped("the meeting is over")

    async with a_house(settings, wired(skip)) as house, working(house):
        await poke(house, "late")

        assert await settled(house) == ["skipped"]
        assert await house.pool.fetchval("select last_error from effects") == "the meeting is over"


async def test_the_sweeper_takes_up_what_has_lost_its_job(settings: Settings) -> None:
    notebook = Notebook()
    async with a_house(settings, wired(notebook.write)) as house:
        await poke(house, "orphan")
        await poke(house, "fine")
        await house.pool.execute("delete from pgqueuer where id = (select min(id) from pgqueuer)")
        async with house.writing(SYSTEM) as work:
            assert await enqueue_forgotten(work.db, due_before=work.now) == 1
            assert await enqueue_forgotten(work.db, due_before=work.now) == 0
        async with working(house):
            assert await settled(house) == ["done", "done"]
        assert sorted(notebook.notes) == ["fine", "orphan"]


async def test_finished_jobs_leave_the_queue(settings: Settings) -> None:
    async with a_house(settings, wired(Notebook().write)) as house:
        async with working(house):
            for note in "abc":
                await poke(house, note)
            await settled(house)
        assert await house.pool.fetchval("select count(*) from pgqueuer") == 0


async def test_writers_of_one_lane_never_both_head_it(settings: Settings) -> None:
    thing = new_id()
    async with a_house(settings, wired(Notebook().write, in_lanes=True)) as house:
        await asyncio.gather(*(poke(house, str(n), thing=thing) for n in range(40)))

        assert sorted(await states(house)) == ["queued"] + ["waiting"] * 39


async def test_a_stopping_worker_finishes_what_it_has_begun(settings: Settings) -> None:
    notebook = Notebook()
    notebook.pause = 0.5
    async with a_house(settings, wired(notebook.write)) as house:
        await poke(house, "slow")
        async with working(house):
            async with asyncio.timeout(WITHIN):
                while await states(house) != ["running"]:
                    await asyncio.sleep(0.01)
        assert await states(house) == ["done"]
        assert await house.pool.fetchval("select count(*) from worker_beats") == 0


async def test_the_lane_is_made_of_what_it_happened_to() -> None:
    thing = new_id()

    assert thing_lane(Poked(thing=thing)) == f"thing:{thing}"
