"""Planned effects that are run, moved, dropped and planned at the same moment: exactly one of them is true."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

import pytest

from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime, Work
from openslot.platform.i18n import CodedReason
from tests.platform.jobs.planning import (
    HOUR,
    REMIND,
    Reminder,
    drop,
    jobs,
    move,
    plan,
    planning,
    rows,
    run_due,
    states,
    until_somebody_waits_for_a_lock,
)
from tests.support.effects import run_attempt, start_effect

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

CANCELLED = CodedReason("test.cancelled", "the meeting was cancelled")


class RolledBack(Exception):
    """Ends a transaction without a trace."""


@asynccontextmanager
async def a_transaction(runtime: Runtime, *, commits: bool) -> AsyncIterator[Work]:
    """Open a transaction that ends as told."""
    with suppress(RolledBack):
        async with runtime.transaction(OPERATOR) as work:
            yield work
            if not commits:
                raise RolledBack


@pytest.mark.parametrize("commits", [True, False])
async def test_run_and_move_when_the_move_is_first(settings: Settings, commits: bool) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "hello", due_at=clock.now)
        (job,) = await jobs(runtime)
        async with a_transaction(runtime, commits=commits) as work:
            assert await work.move_planned(REMIND, "one", due_at=clock.now + HOUR)
            running = asyncio.create_task(run_attempt(runtime, job))
            await until_somebody_waits_for_a_lock(runtime)
        await running

        assert reminders.sent == ([] if commits else ["hello"])
        assert await states(runtime) == (["queued"] if commits else ["done"])


async def test_run_and_move_when_the_run_is_first(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "hello", due_at=clock.now)
        reminders.may_end.clear()
        running = asyncio.create_task(run_attempt(runtime, (await jobs(runtime))[0]))
        await reminders.began.wait()
        assert not await move(runtime, due_at=clock.now + HOUR)
        reminders.may_end.set()
        await running

        assert (reminders.sent, await states(runtime)) == (["hello"], ["done"])


@pytest.mark.parametrize("commits", [True, False])
async def test_run_and_drop_when_the_drop_is_first(settings: Settings, commits: bool) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "hello", due_at=clock.now)
        (job,) = await jobs(runtime)
        async with a_transaction(runtime, commits=commits) as work:
            assert await work.drop_planned(REMIND, "one", reason=CANCELLED)
            running = asyncio.create_task(run_attempt(runtime, job))
            await until_somebody_waits_for_a_lock(runtime)
        await running

        assert reminders.sent == ([] if commits else ["hello"])
        assert await states(runtime) == (["skipped"] if commits else ["done"])


@pytest.mark.parametrize("failures", [0, 1, 2])
async def test_run_and_drop_when_the_run_is_first(settings: Settings, failures: int) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "hello", due_at=clock.now)
        reminders.failures = failures
        if failures == 2:
            await run_due(runtime, clock)
            clock.pass_time(hours=2)
        reminders.may_end.clear()
        reminders.began.clear()
        running = asyncio.create_task(run_attempt(runtime, (await jobs(runtime))[0]))
        await reminders.began.wait()
        assert not await drop(runtime)
        reminders.may_end.set()
        await running
        clock.pass_time(hours=100)
        await run_due(runtime, clock)

        (row,) = await rows(runtime)
        if failures:
            assert (row["state"], reminders.sent) == ("skipped", []), "there is no further try"
            assert row["finished_at"] is not None
        else:
            assert (row["state"], reminders.sent) == ("done", ["hello"])


@pytest.mark.parametrize("failures", [0, 1])
async def test_run_and_plan_when_the_run_is_first(settings: Settings, failures: int) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "old", due_at=clock.now)
        reminders.failures = failures
        reminders.may_end.clear()
        running = asyncio.create_task(run_attempt(runtime, (await jobs(runtime))[0]))
        await reminders.began.wait()
        await plan(runtime, "new", due_at=clock.now + HOUR)
        assert await states(runtime) == ["running", "queued"]
        reminders.may_end.set()
        await running
        clock.pass_time(hours=100)
        await run_due(runtime, clock)

        assert reminders.sent == (["new"] if failures else ["old", "new"])
        assert await states(runtime) == (["skipped", "done"] if failures else ["done", "done"])


@pytest.mark.parametrize("change", ["plan", "drop"])
async def test_what_a_killed_worker_was_at_is_not_begun_again_after_it_was_planned_anew_or_dropped(
    settings: Settings, change: str
) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "old", due_at=clock.now)
        (job,) = await jobs(runtime)
        assert await start_effect(runtime.pool, job, now=clock.now) is not None
        if change == "plan":
            await plan(runtime, "new", due_at=clock.now + HOUR)
        else:
            assert not await drop(runtime)
        await run_attempt(runtime, job)

        assert reminders.sent == []
        first = (await rows(runtime))[0]
        assert (first["state"], first["attempts"]) == ("skipped", 1)
        assert first["finished_at"] == clock.now


async def test_what_a_killed_worker_was_at_is_begun_again(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "old", due_at=clock.now)
        (job,) = await jobs(runtime)
        assert await start_effect(runtime.pool, job, now=clock.now) is not None
        await run_attempt(runtime, job)

        assert (reminders.sent, await states(runtime)) == (["old"], ["done"])


async def test_move_and_drop_when_the_move_is_first(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock):
        await plan(runtime, "hello", due_at=clock.now)
        async with runtime.transaction(OPERATOR) as work:
            assert await work.move_planned(REMIND, "one", due_at=clock.now + HOUR)
            dropping = asyncio.create_task(drop(runtime))
            await until_somebody_waits_for_a_lock(runtime)

        assert await dropping
        assert await states(runtime) == ["skipped"]


async def test_move_and_drop_when_the_drop_is_first(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock):
        await plan(runtime, "hello", due_at=clock.now)
        async with runtime.transaction(OPERATOR) as work:
            assert await work.drop_planned(REMIND, "one", reason=CANCELLED)
            moving = asyncio.create_task(move(runtime, due_at=clock.now + HOUR))
            await until_somebody_waits_for_a_lock(runtime)

        assert not await moving
        assert await states(runtime) == ["skipped"]


@pytest.mark.parametrize("is_planned", [True, False])
@pytest.mark.parametrize("commits", [True, False])
async def test_plan_and_plan_leave_one_and_the_last_one_counts(
    settings: Settings, is_planned: bool, commits: bool
) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        if is_planned:
            await plan(runtime, "zero", due_at=clock.now + 9 * HOUR)
        async with a_transaction(runtime, commits=commits) as work:
            await work.plan(REMIND, "one", due_at=clock.now + HOUR, payload=Reminder("first"))
            planning_too = asyncio.create_task(plan(runtime, "second", due_at=clock.now + 2 * HOUR))
            await until_somebody_waits_for_a_lock(runtime)
        await planning_too

        (row,) = await rows(runtime)
        assert (row["state"], row["next_try_at"]) == ("queued", clock.now + 2 * HOUR)
        assert row["round"] == is_planned + commits, "a job for an earlier time finds nothing to do"
        clock.pass_time(hours=2)
        await run_due(runtime, clock)
        assert reminders.sent == ["second"]


async def test_plan_and_drop_when_the_drop_is_first(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock):
        await plan(runtime, "old", due_at=clock.now)
        async with runtime.transaction(OPERATOR) as work:
            assert await work.drop_planned(REMIND, "one", reason=CANCELLED)
            planning_too = asyncio.create_task(plan(runtime, "new", due_at=clock.now + HOUR))
            await until_somebody_waits_for_a_lock(runtime)
        await planning_too

        assert await states(runtime) == ["skipped", "queued"]


async def test_whatever_happens_at_once_one_waits_at_most_and_what_was_dropped_did_not_run(settings: Settings) -> None:
    chance = Random(7)
    taken: set[EffectAttempt] = set()
    async with planning(settings) as (runtime, reminders, clock):

        async def run_any() -> None:
            # The queue gives each job to one worker.
            for job in await jobs(runtime):
                if job not in taken:
                    taken.add(job)
                    await run_attempt(runtime, job)

        async def do(number: int) -> None:
            key = f"key {chance.randrange(4)}"
            match chance.randrange(4):
                case 0:
                    await plan(runtime, f"{key} {number}", due_at=clock.now, key=key)
                case 1:
                    await move(runtime, due_at=clock.now, key=key)
                case 2:
                    await drop(runtime, key=key)
                case _:
                    await run_any()

        for begin in range(0, 240, 8):
            await asyncio.gather(*(do(begin + n) for n in range(8)))
            waiting = Counter(row["key"] for row in await rows(runtime) if row["state"] == "queued")
            assert max(waiting.values(), default=0) <= 1
        await run_any()

        found = await rows(runtime)
        assert {row["state"] for row in found} <= {"done", "skipped"}
        assert len(reminders.sent) == sum(row["state"] == "done" for row in found)
        assert all(row["attempts"] == 0 for row in found if row["state"] == "skipped")
        assert max(Counter(reminders.sent).values()) == 1
