"""The worker and its places: what finds no place comes again, what fails makes room, and every outcome teaches."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from openslot.platform.core.actor import OPERATOR, Destination, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.effects import hurry
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import (
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
from openslot.platform.i18n import CodedReason
from openslot.platform.jobs import places as rules
from openslot.platform.jobs.places import FairPlaces, Place
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Poked, wired
from tests.platform.jobs.support import settled
from tests.support.effects import WITHIN, run_attempt, working

SEND = "probe.send"
YIELDS = "select yields from effects where reaction = $1 and state = 'queued' order by no"
# Later than any test takes.
LATER = "update effects set next_try_at = now() + interval '1 hour' where round = 1"
COUNT_UNPLANNED = "select count(*) from effects where reaction = 'probe.write' and state <> 'done'"
COUNT_PUT_OFF = "select count(*) from effects where state <> 'done' and attempts = 0"
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


async def run_all(runtime: Runtime, reaction: str, fair_places: FairPlaces) -> None:
    rows = await runtime.pool.fetch(PLANNED, reaction)
    await asyncio.gather(*(run_attempt(runtime, EffectAttempt(row["id"], row["round"]), fair_places) for row in rows))


async def yielding(runtime: Runtime, reaction: str) -> list[bool]:
    return [row["yields"] for row in await runtime.pool.fetch(YIELDS, reaction)]


async def put_back(runtime: Runtime) -> list[bool]:
    """Tell of each effect that was put back whether it is due later."""
    rows = await runtime.pool.fetch("select next_try_at > now() as waits from effects where round = 1 order by no")
    return [bool(row["waits"]) for row in rows]


async def record(runtime: Runtime) -> None:
    """Let something happen that is to be sent to both targets."""
    async with runtime.transaction(OPERATOR) as work:
        await work.record(Poked(thing=new_id()))


async def poke(runtime: Runtime, fair_places: FairPlaces) -> None:
    """Let something happen, and plan what is sent to both targets."""
    await record(runtime)
    await run_all(runtime, "probe.write", fair_places)


def allowance(runtime: Runtime, fair_places: FairPlaces, target: str) -> int:
    """Count how many may be on their way to a target."""
    places = []
    to = Destination(target, None)
    while isinstance(place := fair_places.enter(SEND, to, now=runtime.clock()), Place):
        places.append(place)
    for place in places:
        fair_places.leave(place, answered=None, now=runtime.clock())
    return len(places)


def is_suspect(runtime: Runtime, fair_places: FairPlaces, target: str) -> bool:
    """Tell whether a failure of a target that has no owner is remembered."""
    return fair_places._owners[SEND, target].is_suspect(now=runtime.clock())


@pytest.mark.parametrize(
    ("raised", "earned"), [(None, 2), (TryLater("busy"), 1), (GiveUp("gone"), 1), (RuntimeError("oh"), 1)]
)
async def test_places_are_given_by_how_a_try_went(settings: Settings, raised: Exception | None, earned: int) -> None:
    async def answer() -> Outcome:
        if raised is not None:
            raise raised
        return Done()

    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(answer),))) as runtime:
        for _ in range(2):
            await poke(runtime, fair_places)
            await run_all(runtime, SEND, fair_places)

        assert allowance(runtime, fair_places, "a") == earned
        assert is_suspect(runtime, fair_places, "a") is (raised is not None)
        assert fair_places.slow_inside == 0


async def test_what_is_skipped_tells_nothing_of_its_target(settings: Settings) -> None:
    async def skip() -> Outcome:
        return Skipped(CodedReason("test.unwanted", "nobody wants it"))

    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(skip),))) as runtime:
        for _ in range(3):
            await poke(runtime, fair_places)
            await run_all(runtime, SEND, fair_places)

        assert allowance(runtime, fair_places, "a") == 1
        assert not is_suspect(runtime, fair_places, "a")


async def test_what_finds_no_place_comes_again_behind_others_and_says_why(settings: Settings) -> None:
    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, fair_places)
        place = fair_places.enter(SEND, Destination("a", None), now=runtime.clock())
        assert isinstance(place, Place)
        await run_all(runtime, SEND, fair_places)

        rows = await runtime.pool.fetch(
            "select target, state, attempts, round, last_error from effects where reaction = $1 order by no", SEND
        )
        assert [[*row.values()] for row in rows] == [
            ["a", "queued", 0, 1, "others are on their way to this target"],
            ["b", "done", 1, 0, None],
        ]
        assert (await yielding(runtime, SEND))[0]


async def test_what_found_no_place_comes_as_soon_as_there_is_room(settings: Settings) -> None:
    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, fair_places)
        await run_all(runtime, SEND, fair_places)
        place = fair_places.enter(SEND, Destination("a", None), now=runtime.clock())
        assert isinstance(place, Place)
        await poke(runtime, fair_places)
        await run_all(runtime, SEND, fair_places)
        await runtime.pool.execute(LATER)
        assert await put_back(runtime) == [True]
        fair_places.leave(place, answered=True, now=runtime.clock())
        await poke(runtime, fair_places)

        assert await put_back(runtime) == [False]
        await run_all(runtime, SEND, fair_places)
        assert await settled(runtime) == ["done"] * 9


async def test_an_attempt_that_hurries_is_due_now_unless_it_was_started_or_planned_anew(settings: Settings) -> None:
    async with open_runtime(settings, wiring=wired(fan_out)) as runtime:
        for _ in range(3):
            await poke(runtime, FairPlaces(count=20))
        rows = await runtime.pool.fetch(
            "update effects set next_try_at = now() + interval '1 hour', yields = true, round = 2 returning id, state"
        )
        called = [EffectAttempt(row["id"], 2) for row in rows if row["state"] == "queued"]
        await runtime.pool.execute("update effects set state = 'running' where id = $1", called[1].effect_id)
        await runtime.pool.execute("update effects set round = 3 where id = $1", called[2].effect_id)
        await hurry(runtime.pool, called, now=runtime.clock())

        found = {row["id"]: row for row in await runtime.pool.fetch("select * from effects")}
        due = [found[each.effect_id]["next_try_at"] <= runtime.clock() for each in called]
        assert due[:3] == [True, False, False]
        assert [found[each.effect_id]["yields"] for each in called][:3] == [False, True, True]


async def test_what_yields_starts_after_all_others_that_are_due(settings: Settings) -> None:
    ran: list[str] = []

    async def note(work: Work, effect: Effect) -> Outcome:
        del work
        ran.append(effect.event(Poked).note)
        return Done()

    async with open_runtime(settings, wiring=wired(note)) as runtime:
        for number in range(30):
            async with runtime.transaction(OPERATOR) as work:
                await work.record(Poked(thing=new_id(), note=f"{number:02}"))
        await runtime.pool.execute("update effects set yields = true where no <= (select min(no) + 9 from effects)")
        async with working(runtime):
            await settled(runtime)
    assert ran == [f"{number:02}" for number in (*range(10, 30), *range(10))]


async def test_what_finds_no_place_at_a_target_that_answers_does_not_go_behind_others(settings: Settings) -> None:
    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        await poke(runtime, fair_places)
        await run_all(runtime, SEND, fair_places)
        assert isinstance(fair_places.enter(SEND, Destination("a", None), now=runtime.clock()), Place)
        await poke(runtime, fair_places)
        await run_all(runtime, SEND, fair_places)

        assert await runtime.pool.fetchval("select yields from effects where round = 1") is False


async def test_what_has_failed_goes_behind_others(settings: Settings) -> None:
    async def fail() -> Outcome:
        raise TryLater("busy")

    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(fail),))) as runtime:
        await poke(runtime, fair_places)
        assert await yielding(runtime, SEND) == [False] * 2
        await run_all(runtime, SEND, fair_places)
        assert await yielding(runtime, SEND) == [True] * 2


async def test_what_would_be_turned_away_is_planned_for_its_turn_at_once(settings: Settings) -> None:
    fair_places = FairPlaces(count=20)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done),))) as runtime:
        assert isinstance(fair_places.enter(SEND, Destination("a", None), now=runtime.clock()), Place)
        await poke(runtime, fair_places)

        assert await yielding(runtime, SEND) == [True, False]
        rows = await runtime.pool.fetch(
            """select target, next_try_at > created_at as waits, last_error, attempts, state from effects
            where reaction = $1 order by no""",
            SEND,
        )
        assert [[*row.values()] for row in rows] == [
            ["a", True, "others are on their way to this target", 0, "queued"],
            ["b", False, None, 0, "queued"],
        ]


@pytest.mark.rest("waits for seconds")
async def test_what_was_planned_while_a_target_was_silent_is_sent_once_it_answers_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first turn is that of the one that finds the target awake; in their turns the others would take minutes."""
    monkeypatch.setattr(rules, "QUICK", timedelta(milliseconds=200))
    monkeypatch.setattr(rules, "HANGING_GUESS", timedelta(seconds=2))
    is_awake = asyncio.Event()

    async def send() -> Outcome:
        if is_awake.is_set():
            return Done()
        await is_awake.wait()
        raise TryLater("silence", after=timedelta(hours=1))

    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(send),))) as runtime, working(runtime):
        await record(runtime)
        await asyncio.sleep(1)
        for _ in range(40):
            await record(runtime)
        async with asyncio.timeout(WITHIN):
            while await runtime.pool.fetchval(COUNT_UNPLANNED):
                await asyncio.sleep(0.05)
        is_awake.set()
        async with asyncio.timeout(20):
            while await runtime.pool.fetchval(COUNT_PUT_OFF):
                await asyncio.sleep(0.05)


async def test_a_destination_that_can_not_be_told_is_a_failed_try(settings: Settings) -> None:
    homeless = Reaction(name="probe.homeless", on=(Poked,), run=fan_out, destination=to_target)
    async with open_runtime(settings, wiring=wired(fan_out, more=(sending(done), homeless))) as runtime:
        await poke(runtime, fair_places := FairPlaces(count=20))
        await run_all(runtime, "probe.homeless", fair_places)

        row = await runtime.pool.fetchrow("select * from effects where reaction = 'probe.homeless'")
        assert row is not None
        assert (row["state"], row["attempts"]) == ("queued", 1)
        assert row["last_error"] == f"LookupError: the effect {row['id']} has no target"


@pytest.mark.parametrize("places", [2, 3, 15, 20])
async def test_a_worker_runs_with_any_number_of_places(settings: Settings, places: int) -> None:
    chosen = replace(settings, worker_concurrency=places)
    async with open_runtime(chosen, wiring=wired(fan_out, more=(sending(done),))) as runtime, working(runtime):
        await record(runtime)
        assert await settled(runtime) == ["done"] * 3
