"""Tools: how the periodic jobs stand, what the doctor finds, and the kill switch of outgoing messages."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openslot.platform.core.errors import Invalid, NotFound
from openslot.platform.core.work import Periodic, Runtime
from openslot.platform.jobs.health import PeriodicRun, judge_run
from tests.doors.agents.tools.conftest import Run, events

NOON = datetime(2026, 3, 16, 12, tzinfo=UTC)


async def do_nothing(work: object) -> str:
    return ""


HOURLY = Periodic(name="tidy", expression="0 * * * *", run=do_nothing)


@pytest.mark.parametrize(
    ("minutes_ago", "status", "state"),
    [
        (None, None, "never_run"),
        (0, "running", "running"),
        (60, "ok", "ok"),
        (56, "ok", "ok"),
        (64, "ok", "late"),
        (124, "ok", "late"),
        (126, "running", "late"),
        (126, "failed", "failed"),
        (10, "failed", "failed"),
    ],
)
def test_a_job_is_judged_by_its_last_run(minutes_ago: int | None, status: Any, state: str) -> None:
    run = None
    if minutes_ago is not None:
        at = NOON - timedelta(minutes=minutes_ago)
        run = PeriodicRun(name="tidy", started_at=at, lateness_ms=3, status=status, result=None)

    assert judge_run(HOURLY, run, now=NOON).state == state


@pytest.mark.parametrize(("minutes", "state"), [(5, "ok"), (6, "late")])
def test_five_minutes_are_not_late(minutes: int, state: str) -> None:
    run = PeriodicRun(name="tidy", started_at=NOON, lateness_ms=0, status="ok", result=None)
    now = NOON + timedelta(hours=1, minutes=minutes)

    health = judge_run(HOURLY, run, now=now)
    assert (health.state, health.next_due_at) == (state, NOON + timedelta(hours=1))


async def keep_run(runtime: Runtime, name: str, *, ago: timedelta, status: str, result: str | None = None) -> None:
    await runtime.pool.execute(
        """insert into periodic_runs (name, expression, due_at, started_at, lateness_ms, status, result)
        values ($1, '* * * * *', $2, $2, 7, $3, $4)
        on conflict (name) do update set started_at = $2, lateness_ms = 7, status = $3, result = $4""",
        *(name, runtime.clock() - ago, status, result),
    )


async def start_worker(runtime: Runtime) -> None:
    await runtime.pool.execute(
        """insert into worker_beats (worker_id, host, pid, started_at, beat_at)
        values (gen_random_uuid(), 'here', 1, now(), now())"""
    )


async def test_cron_health_names_what_is_late_failing_or_has_never_run(run: Run, runtime: Runtime) -> None:
    await runtime.pool.execute("delete from periodic_runs")
    names = [each.name for each in runtime.wiring.periodic]
    late, failed, never = names[:3]
    await keep_run(runtime, late, ago=timedelta(days=60), status="ok", result="did it")
    await keep_run(runtime, failed, ago=timedelta(seconds=1), status="failed", result="boom")
    await keep_run(runtime, "of another version", ago=timedelta(days=9), status="failed")

    health = await run("get_cron_health")

    assert [each["job"] for each in health["data"]] == names
    states = {each["job"]: each for each in health["data"]}
    assert (states[late]["state"], states[late]["result"], states[late]["latenessMs"]) == ("late", "did it", 7)
    assert (states[failed]["state"], states[failed]["result"]) == ("failed", "boom")
    assert (states[never]["state"], states[never]["lastStartedAt"]) == ("never_run", None)
    assert (health["workers"], health["isHealthy"]) == (0, False)


@pytest.mark.parametrize(("ago", "status"), [(timedelta(days=60), "ok"), (timedelta(seconds=1), "failed")])
async def test_a_late_or_failed_job_is_not_healthy(run: Run, runtime: Runtime, ago: timedelta, status: str) -> None:
    name = runtime.wiring.periodic[0].name
    await keep_run(runtime, name, ago=ago, status=status)
    await start_worker(runtime)

    health = await run("get_cron_health", job=name)

    assert (health["workers"], health["isHealthy"]) == (1, False)


async def test_cron_health_of_one_job(run: Run, runtime: Runtime) -> None:
    name = runtime.wiring.periodic[0].name
    await keep_run(runtime, name, ago=timedelta(seconds=1), status="ok")
    assert not (await run("get_cron_health", job=name))["isHealthy"]
    await start_worker(runtime)

    health = await run("get_cron_health", job=name)

    assert ([each["job"] for each in health["data"]], health["workers"], health["isHealthy"]) == ([name], 1, True)
    with pytest.raises(NotFound) as refused:
        await run("get_cron_health", job="no such job")
    assert refused.value.details == {"job": "does not exist"}


async def test_the_status_is_what_the_doctor_finds(run: Run, runtime: Runtime) -> None:
    status = await run("get_system_status")

    findings = {each["name"]: each for each in status["findings"]}
    assert findings["migrations"]["state"] == "ok"
    assert (findings["worker"]["state"], findings["worker"]["fix"]) == ("problem", "openslot worker")
    assert {"database", "clock", "disk space", "mail", "backups", "periodic jobs"} <= set(findings)
    assert status["state"] == "problem"
    assert str(runtime.settings.database_url) not in str(status)


async def test_system_tests_say_what_each_part_did(run: Run) -> None:
    every = await run("run_system_tests")
    clock = await run("run_system_tests", suite="clock")

    assert [each["name"] for each in every["data"]] == ["database", "queue", "mail", "calendars", "clock"]
    assert {each["name"] for each in every["data"] if not each["ok"]} == {"queue"}
    assert not every["ok"]
    assert ([each["name"] for each in clock["data"]], clock["ok"]) == (["clock"], True)


@pytest.mark.parametrize(
    ("channel", "stopped"), [(None, ["sms", "whatsapp", "voice"]), ("email", ["email"]), ("voice", ["voice"])]
)
async def test_the_kill_switch_stops_a_channel_and_resumes_it(
    run: Run, runtime: Runtime, channel: str | None, stopped: list[str]
) -> None:
    which = {} if channel is None else {"channel": channel}

    told = await run("set_messaging_kill_switch", enabled=True, reason="wrong texts", **which)

    assert (told["outcome"], [each["channel"] for each in told["channels"]]) == (
        "done",
        ["sms", "whatsapp", "voice", "email"],
    )
    by_name = {each["channel"]: each for each in told["channels"] if each["isStopped"]}
    assert list(by_name) == stopped
    assert {(each["stoppedBy"], each["reason"]) for each in by_name.values()} == {("support", "wrong texts")}
    assert (await events(runtime, "messaging.stopped"))[0]["channels"] == stopped

    told = await run("set_messaging_kill_switch", enabled=False, reason="mended", **which)

    assert not any(each["isStopped"] for each in told["channels"])
    assert (await events(runtime, "messaging.resumed"))[0]["reason"] == "mended"


@pytest.mark.parametrize("reason", ["", "two\nlines", "x" * 501])
async def test_the_kill_switch_needs_a_reason_of_one_line(run: Run, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        await run("set_messaging_kill_switch", enabled=True, reason=reason)
    assert set(refused.value.details or {}) == {"reason"}
