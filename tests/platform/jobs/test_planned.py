"""Planned effects: due at a time, known by a key, moved, dropped, tried again, and kept like all others."""

from contextlib import suppress
from datetime import timedelta

import pytest

from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.events import Effect, NewEffect, insert_effects
from openslot.platform.core.ids import new_id
from openslot.platform.core.revivals import RevivalVerdict, revive_effects
from openslot.platform.core.work import Done, Expanded, Outcome, Reaction, Target, Wiring, Work
from openslot.platform.jobs.periodic import run_job
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.platform.jobs.planning import (
    HOUR,
    REMIND,
    Reminder,
    Reminders,
    drop,
    jobs,
    move,
    plan,
    planning,
    rows,
    run_due,
    states,
)
from tests.platform.jobs.probes import Poked
from tests.platform.jobs.support import settled, until
from tests.support.effects import run_attempt, working

TIDY = next(job for job in WIRING.periodic if job.name == "effects.tidy")
SWEEP = next(job for job in WIRING.periodic if job.name == "effects.sweep")


async def test_it_happens_when_it_is_due_and_not_before(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "tomorrow", due_at=clock.now + 24 * HOUR)
        await run_due(runtime, clock)
        clock.pass_time(hours=23)
        await run_due(runtime, clock)
        assert reminders.sent == []

        clock.pass_time(hours=1)
        await run_due(runtime, clock)
        assert (reminders.sent, await states(runtime)) == (["tomorrow"], ["done"])


async def test_a_worker_does_it_in_time(settings: Settings) -> None:
    reminders = Reminders()
    async with open_runtime(settings, wiring=reminders.wiring) as runtime, working(runtime):
        await plan(runtime, "soon", due_at=runtime.clock() + timedelta(seconds=0.3))
        await plan(runtime, "late", due_at=runtime.clock() - HOUR, key="late")

        assert await settled(runtime) == ["done", "done"]
        assert sorted(reminders.sent) == ["late", "soon"]
        assert all(row["finished_at"] >= row["next_try_at"] for row in await rows(runtime))


async def test_it_is_planned_with_the_change_or_not_at_all(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock):
        with suppress(RuntimeError):
            async with runtime.transaction(OPERATOR) as work:
                await work.plan(REMIND, "one", due_at=clock.now, payload=Reminder("never"))
                raise RuntimeError("changed my mind")

        assert await rows(runtime) == []


async def test_what_is_planned_twice_is_moved_and_not_doubled(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "at nine", due_at=clock.now + HOUR)
        await plan(runtime, "at ten", due_at=clock.now + 2 * HOUR)
        await plan(runtime, "other", due_at=clock.now + HOUR, key="two")
        clock.pass_time(hours=1)
        await run_due(runtime, clock)
        assert reminders.sent == ["other"]
        clock.pass_time(hours=1)
        await run_due(runtime, clock)

        assert reminders.sent == ["other", "at ten"]
        assert await states(runtime) == ["done", "done"]


async def test_what_is_planned_again_after_it_happened_happens_again(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        for text in ("this week", "next week"):
            await plan(runtime, text, due_at=clock.now)
            await run_due(runtime, clock)

        assert (reminders.sent, await states(runtime)) == (["this week", "next week"], ["done", "done"])


async def test_what_is_moved_keeps_what_it_says(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "hello", due_at=clock.now + HOUR)
        assert await move(runtime, due_at=clock.now + 3 * HOUR)
        assert not await move(runtime, due_at=clock.now, key="nobody")
        clock.pass_time(hours=2)
        await run_due(runtime, clock)
        assert reminders.sent == []
        assert await move(runtime, due_at=clock.now)
        await run_due(runtime, clock)

        assert reminders.sent == ["hello"]
        assert not await move(runtime, due_at=clock.now), "it has happened"


async def test_what_is_dropped_never_happens_and_says_why(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "never", due_at=clock.now)
        (job,) = await jobs(runtime)
        assert await drop(runtime)
        await run_attempt(runtime, job)
        clock.pass_time(hours=100)
        await run_due(runtime, clock)

        (row,) = await rows(runtime)
        assert (row["state"], row["last_error"], row["attempts"]) == ("skipped", "test.cancelled", 0)
        assert reminders.sent == []
        assert not await drop(runtime)
        assert not await move(runtime, due_at=clock.now)


async def test_a_job_for_the_old_time_finds_nothing_to_do(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        await plan(runtime, "moved", due_at=clock.now)
        (old,) = await jobs(runtime)
        await plan(runtime, "moved", due_at=clock.now + HOUR)
        await run_attempt(runtime, old)
        (older,) = await jobs(runtime)
        await move(runtime, due_at=clock.now + 2 * HOUR)
        await run_attempt(runtime, older)

        assert (reminders.sent, await states(runtime)) == ([], ["queued"])


async def test_a_failed_try_is_made_again_and_the_last_one_leaves_it_dead(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        reminders.failures = 3
        await plan(runtime, "stubborn", due_at=clock.now)
        for _ in range(2):
            await run_due(runtime, clock)
            clock.pass_time(hours=2)
        (row,) = await rows(runtime)
        assert (row["state"], row["attempts"], row["last_error"]) == ("dead", 2, "no stamps")

        (revival,) = await revive_effects(runtime.work(SYSTEM), None)
        assert revival.verdict is RevivalVerdict.QUEUED
        for _ in range(2):
            await run_due(runtime, clock)
            clock.pass_time(hours=2)
        assert reminders.sent == ["stubborn"]


async def test_a_dead_one_is_revived_however_long_ago_it_was_planned(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        reminders.failures = 2
        await plan(runtime, "next year", due_at=clock.now + 24 * 365 * HOUR)
        clock.pass_time(hours=24 * 365)
        for _ in range(2):
            await run_due(runtime, clock)
            clock.pass_time(hours=2)

        (revival,) = await revive_effects(runtime.work(SYSTEM), None)
        assert revival.verdict is RevivalVerdict.QUEUED


async def test_what_waits_for_its_next_try_is_moved_with_all_of_its_tries(settings: Settings) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        reminders.failures = 1
        await plan(runtime, "old", due_at=clock.now)
        await run_due(runtime, clock)
        await plan(runtime, "new", due_at=clock.now + 5 * HOUR)
        (row,) = await rows(runtime)
        assert (row["attempts"], row["last_error"], row["next_try_at"]) == (0, None, clock.now + 5 * HOUR)


@pytest.mark.parametrize("change", ["plan", "drop"])
async def test_a_dead_one_is_not_tried_again_after_it_was_planned_anew_or_dropped(
    settings: Settings, change: str
) -> None:
    async with planning(settings) as (runtime, reminders, clock):
        reminders.failures = 2
        await plan(runtime, "old", due_at=clock.now)
        for _ in range(2):
            await run_due(runtime, clock)
            clock.pass_time(hours=2)
        if change == "plan":
            await plan(runtime, "new", due_at=clock.now)
        else:
            await drop(runtime)

        assert await revive_effects(runtime.work(SYSTEM), None) == []
        await run_due(runtime, clock)
        assert reminders.sent == (["new"] if change == "plan" else [])
        assert (await states(runtime))[0] == "skipped"


async def test_a_worker_sends_what_is_due_and_leaves_what_is_due_later(settings: Settings) -> None:
    reminders = Reminders()
    async with open_runtime(settings, wiring=reminders.wiring) as runtime:
        now = runtime.clock()
        await plan(runtime, "far", due_at=now + HOUR, key="far")
        await plan(runtime, "overdue", due_at=now - HOUR, key="overdue")
        async with working(runtime):
            await until(lambda: reminders.sent == ["overdue"])
            await plan(runtime, "now", due_at=now, key="now")
            await plan(runtime, "soon", due_at=runtime.clock() + timedelta(seconds=0.5), key="soon")
            await until(lambda: reminders.sent == ["overdue", "now", "soon"])
        assert sorted(await states(runtime)) == ["done", "done", "done", "queued"]


async def test_it_has_a_tenant_and_a_target_and_no_event(settings: Settings) -> None:
    seen: list[Effect] = []

    async def look(work: Work, effect: Effect) -> Outcome:
        del work
        seen.append(effect)
        return Done()

    tenant_id = new_id()
    async with open_runtime(settings, wiring=Wiring(reactions=(Reaction(name=REMIND, run=look),))) as runtime:
        async with runtime.transaction(OPERATOR) as work:
            await work.plan(REMIND, "one", due_at=work.now, tenant_id=tenant_id, target="mail.example")
        await run_attempt(runtime, (await jobs(runtime))[0])

    (effect,) = seen
    assert (effect.key, effect.tenant_id, effect.target, effect.plan(type(None))) == (
        "one",
        tenant_id,
        "mail.example",
        None,
    )
    with pytest.raises(LookupError, match=r"planned as probe\.remind and belongs to no event"):
        effect.event_id  # noqa: B018 - asking is what is tried


async def test_one_that_fans_out_fails_with_a_reason(settings: Settings) -> None:
    async def fan_out(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return Expanded((Target(reaction=REMIND, target="a"),))

    async with open_runtime(settings, wiring=Wiring(reactions=(Reaction(name=REMIND, run=fan_out),))) as runtime:
        await plan(runtime, "many", due_at=runtime.clock())
        await run_attempt(runtime, (await jobs(runtime))[0])
        (row,) = await rows(runtime)
        assert (row["state"], row["attempts"]) == ("queued", 1)
        assert "belongs to no event" in row["last_error"]


async def test_a_reaction_that_nobody_knows_can_not_be_planned(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock), runtime.transaction(OPERATOR) as work:
        with pytest.raises(LookupError, match=r"no reaction is named probe\.forget"):
            await work.plan("probe.forget", "one", due_at=clock.now)


async def test_what_is_finished_goes_when_it_is_older_than_events_are_kept(settings: Settings) -> None:
    async with planning(settings) as (runtime, _, clock):
        await plan(runtime, "done", due_at=clock.now)
        await run_due(runtime, clock)
        await plan(runtime, "dropped", due_at=clock.now, key="two")
        await drop(runtime, key="two")
        await plan(runtime, "far ahead", due_at=clock.now + 9999 * HOUR, key="three")
        async with runtime.transaction(OPERATOR) as work:
            await work.record(Poked(thing=new_id()))
            event_id = await work.db.fetchval("select id from events")
            await insert_effects(work.db, [NewEffect(event_id, runtime.wiring.reactions[0])], now=work.now)
            await work.db.execute(
                "update effects set state = 'done', finished_at = created_at where event_id is not null"
            )
        clock.pass_time(hours=24 * settings.keep_events_days - 1)
        assert await run_job(runtime, TIDY) == "0 planned effects removed"
        clock.pass_time(hours=2)

        assert await run_job(runtime, TIDY) == "2 planned effects removed"
        assert await states(runtime) == ["queued", "done"], "what belongs to an event goes with it"
