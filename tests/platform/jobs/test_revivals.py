"""Dead effects that are tried again: in the order of their lanes, or not at all."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.platform.core.actor import OPERATOR, SYSTEM, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import REPLACED, EffectEnding, finish_effects, release_held, replay_lane
from openslot.platform.core.events import Effect, NewEffect, insert_effects
from openslot.platform.core.ids import new_id
from openslot.platform.core.revivals import DONE_SINCE, TOO_OLD, UNDER_WAY, RevivalVerdict, revive_effects
from openslot.platform.core.work import Done, Expanded, Outcome, Reaction, Runtime, Skipped, Target, Work
from openslot.platform.i18n import CodedReason
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Poked, wired
from tests.platform.jobs.reviving import (
    Receiver,
    effects,
    error_of,
    is_counted_right,
    is_due,
    job_of,
    retry,
    run,
    run_all,
)
from tests.platform.jobs.support import poke, settled
from tests.support.effects import run_attempt, start_effect, working


@pytest.fixture
def target() -> Receiver:
    """A target that takes everything."""
    return Receiver()


@pytest.fixture
async def runtime(settings: Settings, target: Receiver) -> AsyncIterator[Runtime]:
    """A runtime whose one reaction, in lanes, is tried once."""
    wiring = wired(target.take, in_lanes=True, delays=(), holds_back=timedelta(minutes=5))
    async with open_runtime(settings, wiring=wiring) as opened:
        yield opened


@pytest.mark.parametrize("which", [("created",), ()], ids=["one", "all"])
async def test_a_created_behind_a_cancelled_that_is_done_is_skipped_with_the_reason(
    runtime: Runtime, target: Receiver, which: tuple[str, ...]
) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
        await run_all(runtime)
    assert await effects(runtime) == {"created": "dead", "cancelled": "done"}
    target.refuses = set()

    assert await retry(runtime, *which) == [(RevivalVerdict.SKIPPED, DONE_SINCE)]
    await run_all(runtime)
    assert await effects(runtime) == {"created": "skipped", "cancelled": "done"}
    assert await error_of(runtime, "created") == f"{DONE_SINCE.said}; it had failed: RuntimeError: no created, thanks"
    assert target.got == ["cancelled"]


async def test_several_dead_ones_of_a_lane_come_back_in_their_order(runtime: Runtime, target: Receiver) -> None:
    things = [new_id(), new_id()]
    target.refuses = notes = {f"{kind} {n}" for kind in ("created", "moved", "cancelled") for n in (0, 1)}
    for kind in ("created", "moved", "cancelled"):
        for number, thing in enumerate(things):
            await poke(runtime, f"{kind} {number}", thing=thing)
    await run_all(runtime)
    assert set((await effects(runtime)).values()) == {"dead"}
    target.refuses = set()

    assert await retry(runtime) == [(RevivalVerdict.QUEUED, None)] * 6
    assert sorted((await effects(runtime)).values()) == ["queued"] * 2 + ["waiting"] * 4
    assert await is_counted_right(runtime)
    await run_all(runtime)
    for number in (0, 1):
        told = [note for note in target.got if note.endswith(str(number))]
        assert told == [f"{kind} {number}" for kind in ("created", "moved", "cancelled")]
    assert len(target.got) == len(notes)
    assert await is_counted_right(runtime)


@pytest.mark.parametrize("tried", [False, True], ids=["not tried", "between two tries"])
async def test_a_revived_one_goes_before_what_is_planned_behind_it(
    runtime: Runtime, target: Receiver, tried: bool
) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "moved", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run(runtime, "created")
    assert await effects(runtime) == {"created": "dead", "moved": "queued", "cancelled": "waiting"}
    if tried:
        await runtime.pool.execute("update effects set attempts = 3 where state = 'queued'")
        await runtime.pool.execute("update effects set next_try_at = now() + interval '1 day' where state = 'queued'")
    outdated = await job_of(runtime, "moved")
    target.refuses = set()

    assert await retry(runtime) == [(RevivalVerdict.QUEUED, None)]
    assert await effects(runtime) == {"created": "queued", "moved": "waiting", "cancelled": "waiting"}
    await run_attempt(runtime, outdated)
    assert target.got == [], "the job that carried it before leaves it alone"
    await run(runtime, "created")
    assert await is_due(runtime, "moved"), "it does not wait for its next try any more"
    await run_all(runtime)
    assert target.got == ["created", "moved", "cancelled"]
    assert await is_counted_right(runtime)


async def test_what_waits_behind_a_revived_one_is_held_back_anew(runtime: Runtime, target: Receiver) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "moved", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run(runtime, "created")
    await runtime.pool.execute("update effects set hold_until = now() - interval '1 day'")
    await retry(runtime)

    async with runtime.transaction(SYSTEM) as work:
        assert await release_held(work.db, now=work.now + timedelta(minutes=4)) == (0, False)
        assert await release_held(work.db, now=work.now + timedelta(minutes=6)) == (1, False)
    assert await effects(runtime) == {"created": "queued", "moved": "queued", "cancelled": "waiting"}


async def test_a_revived_one_waits_for_what_came_before_it(runtime: Runtime, target: Receiver) -> None:
    thing = new_id()
    target.refuses = {"moved"}
    for note in ("created", "moved", "cancelled"):
        await poke(runtime, note, thing=thing)
    # The first one is slow; the second was let go, and died.
    async with runtime.transaction(SYSTEM) as work:
        await release_held(work.db, now=work.now + timedelta(minutes=6))
    await start_effect(runtime.pool, await job_of(runtime, "created"), now=runtime.clock())
    await run(runtime, "moved")
    assert await effects(runtime) == {"created": "running", "moved": "dead", "cancelled": "queued"}
    target.refuses = set()

    assert await retry(runtime) == [(RevivalVerdict.QUEUED, None)]
    assert await effects(runtime) == {"created": "running", "moved": "waiting", "cancelled": "waiting"}
    await run(runtime, "created")
    await run_all(runtime)
    assert target.got == ["created", "moved", "cancelled"]
    assert await is_counted_right(runtime)


async def test_while_a_later_one_is_carried_out_a_dead_one_is_left(runtime: Runtime, target: Receiver) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run(runtime, "created")
    await start_effect(runtime.pool, await job_of(runtime, "cancelled"), now=runtime.clock())

    assert await retry(runtime) == [(RevivalVerdict.LEFT, UNDER_WAY)]
    assert await effects(runtime) == {"created": "dead", "cancelled": "running"}
    await run(runtime, "cancelled")
    assert await retry(runtime) == [(RevivalVerdict.SKIPPED, DONE_SINCE)]


async def test_a_later_one_that_is_being_taken_up_is_not_waited_for_and_not_overtaken(
    runtime: Runtime, target: Receiver
) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run(runtime, "created")

    async with runtime.transaction(SYSTEM) as worker:
        assert await start_effect(worker.db, await job_of(runtime, "cancelled"), now=runtime.clock())
        async with asyncio.timeout(60):
            assert await retry(runtime) == [(RevivalVerdict.LEFT, UNDER_WAY)]
    assert await effects(runtime) == {"created": "dead", "cancelled": "running"}


async def finishing(runtime: Runtime, stack: AsyncExitStack, note: str) -> None:
    """Finish an effect in a transaction that is not committed yet."""
    effect = await start_effect(runtime.pool, await job_of(runtime, note), now=runtime.clock())
    assert effect is not None
    work = await stack.enter_async_context(runtime.transaction(SYSTEM))
    (finish,) = await finish_effects(work.db, [EffectEnding(effect, "done")], now=work.now, collapsing=())
    assert finish.is_first


async def test_a_later_one_that_is_finished_at_the_same_moment_is_seen(runtime: Runtime, target: Receiver) -> None:
    thing = new_id()
    target.refuses = {"created"}
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run(runtime, "created")

    async with AsyncExitStack() as stack:
        await finishing(runtime, stack, "cancelled")
        retrying = asyncio.create_task(retry(runtime))
        await asyncio.sleep(0.3)
        assert not retrying.done()
    assert await retrying == [(RevivalVerdict.SKIPPED, DONE_SINCE)]


async def test_an_earlier_one_that_is_finished_at_the_same_moment_leaves_nobody_waiting(
    runtime: Runtime, target: Receiver
) -> None:
    thing = new_id()
    target.refuses = {"moved"}
    for note in ("created", "moved"):
        await poke(runtime, note, thing=thing)
    async with runtime.transaction(SYSTEM) as work:
        await release_held(work.db, now=work.now + timedelta(minutes=6))
    await run(runtime, "moved")
    target.refuses = set()

    async with AsyncExitStack() as stack:
        await finishing(runtime, stack, "created")
        retrying = asyncio.create_task(retry(runtime))
        await asyncio.sleep(0.3)
    assert await retrying == [(RevivalVerdict.QUEUED, None)]
    assert (await effects(runtime))["moved"] == "queued"
    await run_all(runtime)
    assert target.got == ["moved"]
    assert await is_counted_right(runtime)


async def test_two_who_retry_at_once_revive_it_once(runtime: Runtime, target: Receiver) -> None:
    target.refuses = {"created"}
    await poke(runtime, "created", thing=new_id())
    await run(runtime, "created")
    target.refuses = set()

    told = await asyncio.gather(*(retry(runtime) for _ in range(8)))

    assert sorted(map(len, told)) == [0] * 7 + [1]
    assert await is_counted_right(runtime)
    await run_all(runtime)
    assert target.got == ["created"]


async def test_in_a_collapsing_lane_only_the_newest_dead_one_comes_back(settings: Settings, target: Receiver) -> None:
    thing = new_id()
    target.refuses = {"created", "moved", "cancelled"}
    async with open_runtime(settings, wiring=wired(target.take, in_lanes=True, delays=(), collapses=True)) as runtime:
        for note in ("created", "moved", "cancelled"):
            await poke(runtime, note, thing=thing)
            await run_all(runtime)
        target.refuses = set()

        assert await retry(runtime) == [(RevivalVerdict.SKIPPED, REPLACED)] * 2 + [(RevivalVerdict.QUEUED, None)]
        await run_all(runtime)
        assert target.got == ["cancelled"]
        assert await is_counted_right(runtime)


async def repeat_in_replay_lane(runtime: Runtime, note: str) -> None:
    event = await runtime.pool.fetchrow("select id, subject_id from events where fact::jsonb ->> 'note' = $1", note)
    reaction = runtime.wiring.reaction("probe.write")
    assert event is not None
    assert reaction is not None
    lane = replay_lane(f"probe:thing:{event['subject_id']}")
    async with runtime.transaction(OPERATOR) as work:
        await insert_effects(work.db, [NewEffect(event["id"], reaction, lane=lane)], now=work.now)


@pytest.mark.parametrize(
    ("repeated", "expected"),
    [
        ("created", [(RevivalVerdict.SKIPPED, DONE_SINCE), (RevivalVerdict.QUEUED, None)]),
        ("cancelled", [(RevivalVerdict.SKIPPED, DONE_SINCE)] * 2),
    ],
)
async def test_what_a_replay_has_brought_since_is_known(
    runtime: Runtime, target: Receiver, repeated: str, expected: list[tuple[RevivalVerdict, str | None]]
) -> None:
    thing = new_id()
    target.refuses = {"created", "cancelled"}
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run_all(runtime)
    target.refuses = set()
    await repeat_in_replay_lane(runtime, repeated)
    await run_all(runtime)

    assert await retry(runtime) == expected
    await run_all(runtime)
    assert target.got == ["created", "cancelled"][["created", "cancelled"].index(repeated) :]


async def test_a_dead_replay_is_compared_with_its_own_lane_alone(runtime: Runtime, target: Receiver) -> None:
    thing = new_id()
    for note in ("created", "cancelled"):
        await poke(runtime, note, thing=thing)
    await run_all(runtime)
    target.refuses = {"created"}
    await repeat_in_replay_lane(runtime, "created")
    await run_all(runtime)
    target.refuses = set()

    assert await retry(runtime) == [(RevivalVerdict.QUEUED, None)]
    await run_all(runtime)
    assert target.got == ["created", "cancelled", "created"]


async def test_a_revived_fan_out_does_not_overtake_and_is_not_overtaken(settings: Settings, target: Receiver) -> None:
    broken = {"created"}

    async def fan_out(work: Work, effect: Effect) -> Outcome:
        del work
        if effect.event(Poked).note in broken:
            raise RuntimeError("no list of targets")
        return Expanded((Target(reaction="probe.deliver", target="a", lane=f"{effect.lane}@a"),))

    wiring = wired(fan_out, in_lanes=True, delays=(), more=(Reaction(name="probe.deliver", run=target.take),))
    async with open_runtime(settings, wiring=wiring) as runtime:
        queued, done = new_id(), new_id()
        for thing, notes in ((queued, ("created", "moved")), (done, ("created", "cancelled"))):
            for note in notes:
                await poke(runtime, note, thing=thing)
        heads = await runtime.pool.fetch("select id, round from effects where state = 'queued' order by no")
        for row in heads:
            await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
        await run(runtime, "cancelled")
        broken.clear()

        assert sorted(await retry(runtime)) == [(RevivalVerdict.QUEUED, None), (RevivalVerdict.SKIPPED, DONE_SINCE)]
        await run_all(runtime)
    assert [note for note in target.got if note != "cancelled"] == ["created", "moved"]


async def test_effects_without_a_lane_are_simply_tried_again(settings: Settings, target: Receiver) -> None:
    target.refuses = {"old", "young"}
    async with open_runtime(settings, wiring=wired(target.take, delays=())) as runtime:
        for note in ("old", "young"):
            await poke(runtime, note)
        await run_all(runtime)
        await runtime.pool.execute(
            "update events set at = at - interval '91 days' where fact::jsonb ->> 'note' = 'old'"
        )
        target.refuses = set()

        assert sorted(await retry(runtime), key=str) == [
            (RevivalVerdict.QUEUED, None),
            (RevivalVerdict.SKIPPED, TOO_OLD),
        ]
        await run_all(runtime)
    assert target.got == ["young"]


async def test_whatever_is_retried_whenever_a_lane_keeps_its_order_and_is_never_stuck(settings: Settings) -> None:
    """Workers, writers, failures and impatient operators at once, without anything that may overtake."""
    chance = random.Random(7)
    things = [new_id() for _ in range(6)]
    got: dict[UUID, list[int]] = {thing: [] for thing in things}
    is_calm = False

    async def take(work: Work, effect: Effect) -> Outcome:
        del work
        event = effect.event(Poked)
        await asyncio.sleep(chance.random() * 0.004)
        if not is_calm and chance.random() < 0.4:
            raise RuntimeError("not now")
        if not is_calm and chance.random() < 0.1:
            return Skipped(CodedReason("test.no_need", "no need"))
        got[event.thing].append(int(event.note))
        return Done()

    wiring = wired(take, in_lanes=True, delays=())
    async with open_runtime(replace(settings, database_connections=20), wiring=wiring) as busy:
        async with working(busy), working(busy):
            operators = [asyncio.create_task(keep_retrying(busy, chance)) for _ in range(2)]
            await asyncio.gather(*(keep_poking(busy, thing, chance) for thing in things))
            is_calm = True
            # Whatever failed before is dead by then.
            await settled(busy)
            for operator in operators:
                operator.cancel()
            await asyncio.gather(*operators, return_exceptions=True)
            await revive_effects(busy.work(OPERATOR), None)
            states = await settled(busy)

        assert "dead" not in states
        assert "done" in states
        for thing in things:
            assert got[thing] == sorted(set(got[thing])), f"out of order: {got[thing]}"
        assert await busy.pool.fetchval("select count(*) from lanes where unfinished <> 0") == 0


async def keep_poking(runtime: Runtime, thing: UUID, chance: random.Random) -> None:
    for number in range(25):
        await poke(runtime, str(number), thing=thing)
        await asyncio.sleep(chance.random() * 0.02)


async def keep_retrying(runtime: Runtime, chance: random.Random) -> None:
    while True:
        await revive_effects(runtime.work(OPERATOR), None)
        await asyncio.sleep(chance.random() * 0.01)
