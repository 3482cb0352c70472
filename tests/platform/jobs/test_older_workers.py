"""A worker that is a release behind leaves what it does not know to others, and disturbs nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from openslot import __version__
from openslot.platform.core.actor import SYSTEM, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Row
from openslot.platform.core.effects import release_held
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Expanded, Outcome, Periodic, Reaction, Runtime, Target, Wiring, Work
from openslot.runtime import open_runtime
from tests.platform.jobs.planning import jobs as planned_jobs
from tests.platform.jobs.planning import plan, planning
from tests.platform.jobs.planning import rows as planned_rows
from tests.platform.jobs.probes import FAR_AWAY, Notebook, Poked, wired
from tests.platform.jobs.support import forget_run, poke, states, until
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt, working

OLD = Wiring(events=(Poked,))
HELD_FOR = timedelta(minutes=5)


@asynccontextmanager
async def runtimes(
    settings: Settings, new: Wiring, old: Wiring = OLD
) -> AsyncIterator[tuple[Runtime, Runtime, MovingClock]]:
    """Open a runtime of each release on one database and one clock."""
    clock = MovingClock()
    async with (
        open_runtime(settings, wiring=new, clock=clock) as newer,
        open_runtime(settings, wiring=old, clock=clock) as older,
    ):
        yield newer, older, clock


async def first_effect(runtime: Runtime) -> Row:
    row = await runtime.pool.fetchrow("select * from effects order by no limit 1")
    assert row is not None
    return row


async def take_up(runtime: Runtime) -> None:
    """Run the first effect that is to be done, as a worker does when its job comes."""
    row = await runtime.pool.fetchrow("select id, round from effects where state = 'queued' order by no limit 1")
    assert row is not None
    await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def test_what_a_worker_does_not_know_is_left_to_another_and_says_so(settings: Settings) -> None:
    notebook = Notebook()
    async with runtimes(settings, wired(notebook.write)) as (new, old, clock):
        await poke(new, "from a newer version")
        await take_up(old)

        row = await first_effect(new)
        assert (row["state"], row["attempts"], row["finished_at"]) == ("queued", 0, None)
        assert row["last_error"] == (
            f"waits for a worker that knows the reaction probe.write: Openslot {__version__} does not"
        )
        assert timedelta(seconds=4) < row["next_try_at"] - clock.now < timedelta(seconds=6)

        await take_up(new)
        row = await first_effect(new)
        assert (row["state"], row["attempts"], row["last_error"]) == ("done", 1, None)
        assert notebook.notes == ["from a newer version"]


async def test_it_is_never_given_up_however_long_no_newer_worker_comes(settings: Settings) -> None:
    async with runtimes(settings, wired(Notebook().write)) as (new, old, clock):
        await poke(new, "patient")
        for _ in range(40):
            await take_up(old)
            clock.now = (await first_effect(old))["next_try_at"]

        row = await first_effect(new)
        assert (row["state"], row["attempts"], row["round"]) == ("queued", 0, 40)
        await take_up(new)
        assert await states(new) == ["done"]


async def test_its_lane_keeps_its_order_though_it_waits_longer_than_a_lane_is_held_back(settings: Settings) -> None:
    notebook = Notebook()
    thing = new_id()
    async with runtimes(settings, wired(notebook.write, in_lanes=True, holds_back=HELD_FOR)) as (new, old, clock):
        for note in ("created", "moved", "cancelled"):
            await poke(new, note, thing=thing)
        began = clock.now
        for _ in range(60):
            await take_up(old)
            clock.now = (await first_effect(old))["next_try_at"]
            async with old.transaction(SYSTEM) as work:
                assert await release_held(work.db, now=work.now) == (0, False)
        assert clock.now - began > 3 * HELD_FOR
        assert await states(new) == ["queued", "waiting", "waiting"]

        for _ in range(3):
            await take_up(new)
        assert await states(new) == ["done"] * 3
        assert notebook.notes == ["created", "moved", "cancelled"]


async def test_targets_whose_reaction_is_not_known_are_left_to_another_as_a_whole(settings: Settings) -> None:
    notebook = Notebook()

    async def fan_out(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Expanded(
            (Target(reaction="probe.known", target="a"), Target(reaction="probe.deliver", target="b", lane="b"))
        )

    known = Reaction(name="probe.known", run=notebook.write)
    newer = wired(fan_out, more=(known, Reaction(name="probe.deliver", run=notebook.write)))
    async with runtimes(settings, newer, wired(fan_out, more=(known,))) as (new, old, _):
        await poke(new, "for two")
        await take_up(old)

        row = await first_effect(new)
        assert (row["state"], row["attempts"]) == ("queued", 0)
        assert "the reaction probe.deliver" in row["last_error"]
        assert await states(new) == ["queued"]

        for _ in range(3):
            await take_up(new)
        assert await states(new) == ["done"] * 3
        assert notebook.notes == ["for two"] * 2


async def test_a_periodic_job_that_a_worker_does_not_know_is_left_alone(settings: Settings) -> None:
    ran: list[str] = []

    def job(name: str) -> Periodic:
        async def run(work: Work) -> str:
            del work
            ran.append(name)
            return "done"

        return Periodic(name=name, expression=FAR_AWAY, run=run)

    both, later = job("both"), job("new")
    async with open_runtime(settings, wiring=Wiring(periodic=(both, later))) as new:
        await forget_run(new, both)
        await forget_run(new, later)
        async with open_runtime(settings, wiring=Wiring(periodic=(both,))) as old, working(old):
            await until(lambda: ran)
        assert ran == ["both"]
        async with working(new):
            await until(lambda: "new" in ran)
    assert ran == ["both", "new"]


async def test_a_planned_effect_whose_reaction_a_worker_does_not_know_is_left_to_another(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "new", due_at=clock.now)
        async with open_runtime(settings, wiring=OLD, clock=clock) as old:
            await run_attempt(old, (await planned_jobs(runtime))[0])

        (row,) = await planned_rows(runtime)
        assert (row["state"], row["attempts"]) == ("queued", 0)
        assert row["last_error"].startswith("waits for a worker that knows the reaction probe.remind")
        await run_attempt(runtime, (await planned_jobs(runtime))[0])
        assert reminders.sent == ["new"]
