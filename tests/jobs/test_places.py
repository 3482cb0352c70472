"""The worker and its gate: what finds no place comes again, what fails makes room, and every outcome teaches."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.core.actor import OPERATOR, Destination
from openslot.core.config import Settings
from openslot.core.events import Effect
from openslot.core.ids import new_id
from openslot.core.queue import Job, Priority, enqueue, hurry
from openslot.core.work import (
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Reaction,
    Runtime,
    Skipped,
    Target,
    TryLater,
    Work,
    to_target,
)
from openslot.jobs.effects import run_effect
from openslot.jobs.gate import Gate, Place
from openslot.runtime import open_runtime
from tests.jobs.probes import Poked, wired
from tests.jobs.support import settled
from tests.support.effects import working

SEND = "probe.send"
JOBS = """
select q.priority from pgqueuer q join effects f on q.dedupe_key = f.id || ':' || f.round
where f.reaction = $1 order by f.no"""
# Later than any test takes.
LATER = "update pgqueuer set execute_after = now() + interval '1 hour' where dedupe_key like '%:1'"
PLANNED = "select id, round from effects where reaction = $1 and state = 'queued' order by no"


async def fan_out(_: Work, effect: Effect) -> Outcome:
    """Send each event to two targets."""
    del effect
    return Expanded(tuple(Target(reaction=SEND, target=name) for name in ("a", "b")))


def sending(run: Callable[[], Awaitable[Outcome]]) -> Reaction:
    """Make a reaction that goes to its target."""

    async def send(work: Work, effect: Effect) -> Outcome:
        del work, effect
        return await run()

    return Reaction(name=SEND, run=send, destination=to_target)


async def done() -> Outcome:
    return Done()


async def run_all(runtime: Runtime, reaction: str, gate: Gate) -> None:
    rows = await runtime.pool.fetch(PLANNED, reaction)
    await asyncio.gather(*(run_effect(runtime, Job(effect_id=row["id"], round=row["round"]), gate) for row in rows))


async def priorities(runtime: Runtime, reaction: str) -> list[int]:
    return [row["priority"] for row in await runtime.pool.fetch(JOBS, reaction)]


async def waiting_jobs(runtime: Runtime) -> list[bool]:
    """Tell of each effect that was put back whether its job is due later."""
    rows = await runtime.pool.fetch(
        "select execute_after > now() as waits from pgqueuer where dedupe_key like '%:1' order by id"
    )
    return [bool(row["waits"]) for row in rows]


async def poke(runtime: Runtime, gate: Gate) -> None:
    """Let something happen that is sent to both targets."""
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=new_id()))
    await run_all(runtime, "probe.write", gate)


def allowance(runtime: Runtime, gate: Gate, target: str) -> int:
    """Count how many may be on their way to a target."""
    places = []
    to = Destination(target, None)
    while isinstance(place := gate.enter(SEND, to, now=runtime.clock()), Place):
        places.append(place)
    for place in places:
        gate.leave(place, answered=None, now=runtime.clock())
    return len(places)


def is_suspect(runtime: Runtime, gate: Gate, target: str) -> bool:
    """Tell whether the gate remembers a failure of a target that has no owner."""
    return gate._owners[SEND, target].is_suspect(now=runtime.clock())


@pytest.mark.parametrize(
    ("raised", "earned"), [(None, 2), (TryLater("busy"), 1), (GiveUp("gone"), 1), (RuntimeError("oh"), 1)]
)
async def test_the_gate_learns_from_how_a_try_went(settings: Settings, raised: Exception | None, earned: int) -> None:
    async def answer() -> Outcome:
        if raised is not None:
            raise raised
        return Done()

    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(answer),))) as runtime:
        for _ in range(2):
            await poke(runtime, gate)
            await run_all(runtime, SEND, gate)

        assert allowance(runtime, gate, "a") == earned
        assert is_suspect(runtime, gate, "a") is (raised is not None)
        assert gate.slow_inside == 0


async def test_what_is_skipped_tells_nothing_of_its_target(settings: Settings) -> None:
    async def skip() -> Outcome:
        return Skipped("nobody wants it")

    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(skip),))) as runtime:
        for _ in range(3):
            await poke(runtime, gate)
            await run_all(runtime, SEND, gate)

        assert allowance(runtime, gate, "a") == 1
        assert not is_suspect(runtime, gate, "a")


async def test_what_finds_no_place_comes_again_behind_others_and_says_why(settings: Settings) -> None:
    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, gate)
        place = gate.enter(SEND, Destination("a", None), now=runtime.clock())
        assert isinstance(place, Place)
        await run_all(runtime, SEND, gate)

        rows = await runtime.pool.fetch(
            "select target, state, attempts, round, last_error from effects where reaction = $1 order by no", SEND
        )
        assert [[*row.values()] for row in rows] == [
            ["a", "queued", 0, 1, "others are on their way to this target"],
            ["b", "done", 1, 0, None],
        ]
        assert (await priorities(runtime, SEND))[0] == Priority.LATER


async def test_what_found_no_place_comes_as_soon_as_there_is_room(settings: Settings) -> None:
    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, gate)
        await run_all(runtime, SEND, gate)
        place = gate.enter(SEND, Destination("a", None), now=runtime.clock())
        assert isinstance(place, Place)
        await poke(runtime, gate)
        await run_all(runtime, SEND, gate)
        await runtime.pool.execute(LATER)
        assert await waiting_jobs(runtime) == [True]
        gate.leave(place, answered=True, now=runtime.clock())
        await poke(runtime, gate)

        assert await waiting_jobs(runtime) == [False]
        await run_all(runtime, SEND, gate)
        assert await settled(runtime) == ["done"] * 9


async def test_a_job_that_hurries_is_due_now_unless_somebody_has_it(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired(fan_out)) as runtime:
        later = [Job(effect_id=new_id(), round=2, after=timedelta(seconds=60), priority=Priority.LATER) for _ in "abc"]
        await enqueue(runtime.pool, later[:2])
        await runtime.pool.execute("update pgqueuer set status = 'picked' where dedupe_key = $1", later[1].name)
        await hurry(runtime.pool, later)
        await hurry(runtime.pool, later[::-1])

        rows = await runtime.pool.fetch(
            "select dedupe_key, status::text, execute_after <= now(), priority from pgqueuer order by id"
        )
        assert [tuple(row.values()) for row in rows] == [
            (later[0].name, "queued", True, Priority.SOON),
            (later[1].name, "picked", False, Priority.LATER),
            (later[2].name, "queued", True, Priority.SOON),
        ]


async def test_a_called_effect_that_is_done_is_not_done_again(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime, working(runtime):
        await poke(runtime, Gate(places=20))
        assert await settled(runtime) == ["done"] * 3
        row = await runtime.pool.fetchrow("select id, round, attempts from effects where reaction = $1", SEND)
        assert row is not None
        await hurry(runtime.pool, [Job(effect_id=row["id"], round=row["round"])])
        async with asyncio.timeout(60):
            while await runtime.pool.fetchval("select count(*) from pgqueuer"):
                await asyncio.sleep(0.01)
        assert await runtime.pool.fetchval("select attempts from effects where id = $1", row["id"]) == row["attempts"]


async def test_what_finds_no_place_at_a_target_that_answers_does_not_go_behind_others(settings: Settings) -> None:
    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, gate)
        await run_all(runtime, SEND, gate)
        assert isinstance(gate.enter(SEND, Destination("a", None), now=runtime.clock()), Place)
        await poke(runtime, gate)
        await run_all(runtime, SEND, gate)

        put_back = await runtime.pool.fetchval(
            "select q.priority from pgqueuer q join effects f on q.dedupe_key = f.id || ':' || f.round where round = 1"
        )
        assert put_back == Priority.SOON


async def test_what_has_failed_goes_behind_others(settings: Settings) -> None:
    async def fail() -> Outcome:
        raise TryLater("busy")

    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(fail),))) as runtime:
        await poke(runtime, gate)
        assert await priorities(runtime, SEND) == [Priority.SOON] * 2
        await run_all(runtime, SEND, gate)
        assert await priorities(runtime, SEND) == [Priority.LATER] * 2


async def test_what_would_be_turned_away_is_planned_for_its_turn_at_once(settings: Settings) -> None:
    gate = Gate(places=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        assert isinstance(gate.enter(SEND, Destination("a", None), now=runtime.clock()), Place)
        await poke(runtime, gate)

        assert await priorities(runtime, SEND) == [Priority.LATER, Priority.SOON]
        rows = await runtime.pool.fetch(
            """select target, next_try_at > created_at as waits, last_error, attempts, state from effects
            where reaction = $1 order by no""",
            SEND,
        )
        assert [[*row.values()] for row in rows] == [
            ["a", True, "others are on their way to this target", 0, "queued"],
            ["b", False, None, 0, "queued"],
        ]


async def test_a_destination_that_can_not_be_told_is_a_failed_try(settings: Settings) -> None:
    homeless = Reaction(name="probe.homeless", on=(Poked,), run=fan_out, destination=to_target)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done), homeless))) as runtime:
        await poke(runtime, gate := Gate(places=20))
        await run_all(runtime, "probe.homeless", gate)

        row = await runtime.pool.fetchrow("select * from effects where reaction = 'probe.homeless'")
        assert row is not None
        assert (row["state"], row["attempts"]) == ("queued", 1)
        assert row["last_error"] == f"LookupError: the effect {row['id']} has no target"


@pytest.mark.parametrize("places", [2, 3, 15, 20])
async def test_a_worker_runs_with_any_number_of_places(settings: Settings, places: int) -> None:
    chosen = replace(settings, worker_concurrency=places)
    async with open_runtime(chosen, wiring=wired(fan_out, more=(sending(done),))) as runtime, working(runtime):
        async with runtime.transaction(OPERATOR) as work:
            await work.record(Poked(thing=new_id()))

        assert await settled(runtime) == ["done"] * 3
