"""What the clock does, and how its runs are kept."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from openslot.core.config import Settings
from openslot.core.work import Periodic, Runtime, Wiring, Work
from openslot.jobs.worker import due_since, follow_clock, run_job, run_periodic
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.jobs.probes import FAR_AWAY, LEAVE_MARK, MARKS
from tests.jobs.support import until
from tests.support.effects import WITHIN, working

NOON = datetime(2026, 3, 16, 12, 0, 30, tzinfo=UTC)


async def fine(work: Work) -> str:
    await work.db.execute(LEAVE_MARK, "fine")
    return "3 things done"


async def broken(work: Work) -> str:
    await work.db.execute(LEAVE_MARK, "broken")
    raise RuntimeError("out of paper")


async def last_run(runtime: Runtime, name: str) -> dict[str, object]:
    row = await runtime.pool.fetchrow("select * from periodic_runs where name = $1", name)
    assert row is not None
    return dict(row)


async def test_a_run_is_kept_with_its_result(runtime: Runtime) -> None:
    await run_periodic(runtime, Periodic(name="fine", expression="* * * * *", run=fine))

    run = await last_run(runtime, "fine")
    assert (run["status"], run["result"], run["runs"], run["failures"]) == ("ok", "3 things done", 1, 0)
    assert run["finished_at"] is not None
    assert await runtime.pool.fetchval(MARKS) == 1


async def test_a_failed_run_changes_nothing_and_says_why(runtime: Runtime) -> None:
    job = Periodic(name="broken", expression="* * * * *", run=broken)
    await run_periodic(runtime, job)
    await run_periodic(runtime, job)

    run = await last_run(runtime, "broken")
    assert (run["status"], run["result"], run["failures"]) == ("failed", "RuntimeError: out of paper", 2)
    assert await runtime.pool.fetchval(MARKS) == 0


@pytest.mark.parametrize(
    ("previous", "due"),
    [
        (None, datetime(2026, 3, 16, 12, 0, tzinfo=UTC)),
        (datetime(2026, 3, 16, 11, 59, tzinfo=UTC), datetime(2026, 3, 16, 12, 0, tzinfo=UTC)),
        (datetime(2026, 3, 16, 9, 0, tzinfo=UTC), datetime(2026, 3, 16, 9, 1, tzinfo=UTC)),
    ],
)
def test_lateness_counts_from_the_first_run_that_was_missed(previous: datetime | None, due: datetime) -> None:
    assert due_since("* * * * *", previous, now=NOON) == due


async def test_a_worker_runs_what_is_due_though_another_worker_does_too(settings: Settings) -> None:
    runs: list[datetime] = []

    async def note(work: Work) -> str:
        runs.append(work.now)
        return "noted"

    wiring = Wiring(periodic=(Periodic(name="probe.clock", expression=FAR_AWAY, run=note),))
    async with open_runtime(settings, wiring=wiring) as runtime:
        async with working(runtime):
            await until_scheduled(runtime)
        await runtime.pool.execute("update pgqueuer_schedules set next_run = now() - interval '1 second'")
        async with working(runtime), working(runtime):
            await until(lambda: runs)
        assert len(runs) == 1
        assert (await last_run(runtime, "probe.clock"))["status"] == "ok"


async def until_scheduled(runtime: Runtime) -> None:
    while not await runtime.pool.fetchval("select count(*) from pgqueuer_schedules"):
        pass


SET_BACK = """update pgqueuer_schedules set next_run = next_run + interval '1 day',
    heartbeat = now() + interval '1 day', status = $1::text::pgqueuer_status"""


@pytest.mark.parametrize("status", ["queued", "picked"])
async def test_periodic_jobs_go_on_when_the_clock_was_set_back_by_a_day(settings: Settings, status: str) -> None:
    """A job that a killed worker was running goes on, too, when its heartbeat is too old."""
    wiring = Wiring(periodic=(Periodic(name="probe.clock", expression="*/2 * * * *", run=fine),))
    async with open_runtime(settings, wiring=wiring) as runtime:
        async with working(runtime):
            await until_scheduled(runtime)
        await runtime.pool.execute(SET_BACK, status)
        await follow_clock(runtime)
        planned = await runtime.pool.fetchrow(
            "select next_run <= now() + interval '2 minutes' as soon, heartbeat <= now() as old from pgqueuer_schedules"
        )

        assert planned is not None
        assert (planned["soon"], planned["old"]) == (True, True)


async def test_a_worker_sees_that_the_clock_was_set_back(settings: Settings) -> None:
    wiring = Wiring(periodic=(Periodic(name="probe.clock", expression=FAR_AWAY, run=fine),))
    async with open_runtime(settings, wiring=wiring) as runtime:
        async with working(runtime):
            await until_scheduled(runtime)
        await runtime.pool.execute(SET_BACK, "queued")
        before = await runtime.pool.fetchval("select next_run from pgqueuer_schedules")
        async with working(runtime), asyncio.timeout(WITHIN):
            while await runtime.pool.fetchval("select next_run from pgqueuer_schedules") == before:
                await asyncio.sleep(0.01)


async def test_jobs_of_a_killed_worker_are_free_when_the_clock_was_set_back(runtime: Runtime) -> None:
    async with open_runtime(runtime.settings, wiring=Wiring(periodic=(WIRING.periodic[0],))) as other:
        async with working(other):
            await until_scheduled(other)
        await other.pool.execute(SET_BACK, "queued")
        await other.pool.execute(
            """insert into pgqueuer (priority, status, entrypoint, heartbeat)
            values (0, 'picked', 'effects', now() + interval '1 day')"""
        )
        await follow_clock(other)

        assert await other.pool.fetchval("select heartbeat <= now() from pgqueuer where status = 'picked'")


async def test_a_clock_that_was_not_set_back_changes_no_plan(settings: Settings) -> None:
    async with open_runtime(settings, wiring=Wiring(periodic=WIRING.periodic)) as runtime:
        async with working(runtime):
            await until_scheduled(runtime)
        plan = "select array_agg(next_run order by id) from pgqueuer_schedules"
        # Seconds are cut off, and a loaded machine may have taken some to get here.
        await runtime.pool.execute("update pgqueuer_schedules set next_run = next_run + interval '30 seconds'")
        before = await runtime.pool.fetchval(plan)
        await follow_clock(runtime)

        assert await runtime.pool.fetchval(plan) == before


@pytest.mark.parametrize("job", WIRING.periodic, ids=lambda job: job.name)
async def test_every_periodic_job_runs_on_an_empty_database(runtime: Runtime, job: Periodic) -> None:
    assert await run_job(runtime, job)


async def test_old_traces_are_tidied_away(runtime: Runtime) -> None:
    now = runtime.clock()
    await runtime.pool.execute("insert into lanes values ('empty', 0), ('busy', 1)")
    await runtime.pool.execute(
        "insert into worker_beats values (gen_random_uuid(), 'h', 1, $1, $1), (gen_random_uuid(), 'h', 2, $2, $2)",
        now - timedelta(days=1),
        now,
    )
    tidy = next(job for job in WIRING.periodic if job.name == "queue.tidy")
    await run_job(runtime, tidy)

    assert [row["lane"] for row in await runtime.pool.fetch("select lane from lanes")] == ["busy"]
    assert await runtime.pool.fetchval("select count(*) from worker_beats") == 1
