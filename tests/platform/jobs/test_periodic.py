"""What the clock does, and how its runs are kept."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Periodic, Runtime, Wiring, Work
from openslot.platform.jobs.periodic import claim_run, first_missed, run_job, run_periodic
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.platform.jobs.probes import FAR_AWAY, LEAVE_MARK, MARKS
from tests.platform.jobs.support import forget_run, until
from tests.support.clocks import MovingClock
from tests.support.effects import working

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
    job = Periodic(name="fine", expression="* * * * *", run=fine)
    assert await claim_run(runtime, job, new_id(), since=NOON)
    await run_periodic(runtime, job)

    run = await last_run(runtime, "fine")
    assert (run["status"], run["result"], run["runs"], run["failures"]) == ("ok", "3 things done", 1, 0)
    assert run["finished_at"] is not None
    assert await runtime.pool.fetchval(MARKS) == 1


async def test_a_failed_run_changes_nothing_and_says_why(runtime: Runtime) -> None:
    job = Periodic(name="broken", expression="* * * * *", run=broken)
    for _ in range(2):
        assert await claim_run(runtime, job, new_id(), since=NOON)
        await run_periodic(runtime, job)
        await forget_run(runtime, job)

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
    assert first_missed("* * * * *", previous, now=NOON) == due


async def test_a_worker_runs_what_is_due_though_another_worker_does_too(settings: Settings) -> None:
    runs: list[datetime] = []

    async def note(work: Work) -> str:
        runs.append(work.now)
        await asyncio.sleep(0.2)
        return "noted"

    job = Periodic(name="probe.clock", expression=FAR_AWAY, run=note)
    async with open_runtime(settings, wiring=Wiring(periodic=(job,))) as runtime:
        await forget_run(runtime, job)
        async with working(runtime), working(runtime):
            await until(lambda: runs)
        assert len(runs) == 1
        assert (await last_run(runtime, "probe.clock"))["status"] == "ok"


MINUTELY = Periodic(name="probe.clock", expression="* * * * *", run=fine)


@pytest.fixture
def noon(runtime: Runtime) -> MovingClock:
    """The clock of the runtime, at half a minute past noon."""
    clock = MovingClock(NOON)
    runtime.clock = clock
    return clock


async def test_a_job_first_runs_when_it_is_due_after_the_start(runtime: Runtime, noon: MovingClock) -> None:
    assert not await claim_run(runtime, MINUTELY, new_id(), since=NOON)
    noon.pass_time(seconds=30)
    assert await claim_run(runtime, MINUTELY, new_id(), since=NOON)


async def test_a_tick_has_one_run_and_missed_ticks_have_one_together(runtime: Runtime, noon: MovingClock) -> None:
    for minutes, lateness_ms in ((1, 30_000), (60, 59 * 60_000 + 30_000)):
        noon.pass_time(minutes=minutes)
        claims = [await claim_run(runtime, MINUTELY, new_id(), since=NOON) for _ in range(3)]
        await run_periodic(runtime, MINUTELY)
        assert (claims, (await last_run(runtime, "probe.clock"))["lateness_ms"]) == ([True, False, False], lateness_ms)
    assert (await last_run(runtime, "probe.clock"))["runs"] == 2


@pytest.mark.parametrize(("seen", "is_free"), [("now()", False), ("now() - interval '1 minute'", True), (None, True)])
async def test_a_run_that_has_not_ended_goes_to_another_only_when_its_worker_is_dead(
    runtime: Runtime, noon: MovingClock, seen: str | None, is_free: bool
) -> None:
    worker_id = new_id()
    noon.pass_time(minutes=1)
    assert await claim_run(runtime, MINUTELY, worker_id, since=NOON)
    if seen is not None:
        await runtime.pool.execute(f"insert into worker_beats values ($1, 'h', 1, now(), {seen})", worker_id)
    noon.pass_time(minutes=1)
    assert await claim_run(runtime, MINUTELY, new_id(), since=NOON) is is_free


async def test_a_worker_that_lost_the_result_of_a_run_begins_the_next_one(runtime: Runtime, noon: MovingClock) -> None:
    worker_id = new_id()
    await runtime.pool.execute("insert into worker_beats values ($1, 'h', 1, now(), now())", worker_id)
    for _ in range(2):
        noon.pass_time(minutes=1)
        assert await claim_run(runtime, MINUTELY, worker_id, since=NOON)


@pytest.mark.parametrize("back", [timedelta(minutes=2), timedelta(days=1)])
async def test_periodic_jobs_go_on_when_the_clock_was_set_back(
    runtime: Runtime, noon: MovingClock, back: timedelta
) -> None:
    noon.pass_time(minutes=1)
    assert await claim_run(runtime, MINUTELY, new_id(), since=NOON)
    await run_periodic(runtime, MINUTELY)
    noon.now -= back
    assert await claim_run(runtime, MINUTELY, new_id(), since=NOON)


async def test_a_worker_whose_clock_is_a_little_behind_runs_nothing_twice(runtime: Runtime, noon: MovingClock) -> None:
    noon.now = NOON + timedelta(seconds=30)
    assert await claim_run(runtime, MINUTELY, new_id(), since=NOON)
    await run_periodic(runtime, MINUTELY)
    noon.now -= timedelta(seconds=5)
    assert not await claim_run(runtime, MINUTELY, new_id(), since=NOON)


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
