"""Look-ups are shared fairly: who asks for names that are never answered takes nothing from others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from uuid import UUID, uuid4

import pytest

from openslot.platform.core.outbound import lookups
from openslot.platform.core.outbound.lookups import (
    FIRST_FAILURE_SECONDS,
    LONGEST_FAILURE_SECONDS,
    MOST,
    OF_ONE_OWNER,
    PLACES,
    QUICK_OF_ONE_SUSPECT,
    SUSPECT_SECONDS,
    LookUps,
    Share,
)
from openslot.platform.core.outbound.targets import Address

ADDRESS = ip_address("93.184.215.14")
WITHIN = 60.0
ANA, BEN = uuid4(), uuid4()


class Names:
    """A resolver that never answers for names that begin with `silent`, and fails for those with `bad`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: Counter[str] = Counter()
        self.bad: set[str] = set()

    @property
    def hanging(self) -> int:
        """How many look-ups hang now."""
        return self.silent.total()

    async def resolve(self, host: str) -> tuple[Address, ...]:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host.startswith("silent"):
            self.silent[host] += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.silent[host] -= 1
        if host.startswith("bad") or host in self.bad:
            raise OSError(host)
        return (ADDRESS,)


class Clock:
    """Moves by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """Look-ups of many owners, and what they wait for."""

    def __init__(self) -> None:
        self.names, self.clock = Names(), Clock()
        self.look_ups = LookUps(self.names, clock=self.clock)
        self.tasks: list[asyncio.Task[tuple[Address, ...]]] = []

    async def resolve(self, host: str, owner_id: UUID | None = ANA) -> tuple[Address, ...]:
        async with asyncio.timeout(WITHIN):
            return await self.look_ups.resolve(host, owner_id=owner_id)

    def begin(self, host: str, owner_id: UUID | None = ANA) -> asyncio.Task[tuple[Address, ...]]:
        self.tasks.append(asyncio.create_task(self.look_ups.resolve(host, owner_id=owner_id)))
        return self.tasks[-1]

    async def settle(self) -> None:
        """Let everything happen that can happen at once."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks.clear()


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    try:
        yield stage
    finally:
        await stage.end()
        assert stage.names.hanging == 0, "who is cancelled ends the look-up"
        assert set(stage.look_ups._inside.values()) == {0}, "every place was given back"
        assert not stage.look_ups._waiting


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """Look-ups that are never noticed to hang, however slow the machine is."""
    monkeypatch.setattr(lookups, "QUICK_SECONDS", WITHIN * 10)
    async with staged() as opened:
        yield opened


@pytest.fixture
async def alert_stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """Look-ups that are noticed to hang at once."""
    monkeypatch.setattr(lookups, "QUICK_SECONDS", 0.02)
    async with staged() as opened:
        yield opened


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():
            await asyncio.sleep(0.005)


async def test_one_owner_has_only_so_many_look_ups_and_others_do_not_wait_for_them(stage: Stage) -> None:
    for number in range(20):
        stage.begin(f"silent{number}.example")
    await stage.settle()
    assert stage.names.hanging == OF_ONE_OWNER[Share.NEW]
    assert await stage.resolve("good.example", BEN) == (ADDRESS,)
    assert await stage.resolve("good.example", None) == (ADDRESS,)


async def test_the_next_of_the_same_owner_begins_when_one_has_really_ended(stage: Stage) -> None:
    first, *_ = [stage.begin(f"silent{number}.example") for number in range(3)]
    await stage.settle()
    assert stage.names.asked == ["silent0.example", "silent1.example"]
    first.cancel()
    await stage.settle()
    assert stage.names.asked == ["silent0.example", "silent1.example", "silent2.example"]
    assert stage.names.hanging == 2


async def test_who_stops_waiting_gives_the_place_to_the_next(stage: Stage) -> None:
    first, _, waiting, _ = [stage.begin(f"silent{number}.example") for number in range(4)]
    await stage.settle()
    # Both at once: the place is handed to one who is being cancelled.
    first.cancel()
    waiting.cancel()
    await stage.settle()
    assert stage.names.silent == Counter({"silent1.example": 1, "silent3.example": 1}) + Counter()
    assert waiting.cancelled()


async def test_a_place_that_was_handed_over_to_a_cancelled_task_is_not_lost(stage: Stage) -> None:
    stage.begin("silent0.example")
    stage.begin("silent1.example")
    waiting, _ = stage.begin("silent2.example"), stage.begin("silent3.example")
    await stage.settle()
    place = stage.look_ups._waiting[0].place
    stage.tasks[0].cancel()
    # After the first has ended and handed its place over, and before the one that waits has noticed.
    asyncio.get_running_loop().call_soon(waiting.cancel)
    await stage.settle()
    assert not place.cancelled()
    assert waiting.cancelled()
    assert sorted(stage.names.silent.elements()) == ["silent1.example", "silent3.example"]


async def test_no_flood_of_new_owners_keeps_new_names_of_others_waiting(alert_stage: Stage) -> None:
    stage = alert_stage
    owners = PLACES[Share.NEW] * 2
    for owner_id in [uuid4() for _ in range(owners)]:
        for number in range(3):
            stage.begin(f"silent{number}.{owner_id}.example", owner_id)
    # Those that hang make room for the first of the others, and stay suspect themselves.
    await until(lambda: stage.names.hanging >= 2 * owners)
    await until(lambda: stage.look_ups._inside[Share.NEW] == 0)
    assert await stage.resolve("good.example", BEN) == (ADDRESS,)
    assert await stage.resolve("good.example", None) == (ADDRESS,)
    assert stage.names.hanging == 2 * owners, "nobody hangs with more than the first two"
    assert stage.names.hanging < MOST


async def test_names_that_were_quick_keep_places_while_all_others_are_taken(stage: Stage) -> None:
    await stage.resolve("good.example", BEN)
    for owner_id in [uuid4() for _ in range(PLACES[Share.NEW])]:
        for number in range(3):
            stage.begin(f"silent{number}.example", owner_id)
    await stage.settle()
    assert stage.names.hanging == PLACES[Share.NEW]
    new = stage.begin("new.example", BEN)
    await stage.settle()
    assert not new.done()
    assert await stage.resolve("good.example", BEN) == (ADDRESS,)
    await stage.end()


async def test_all_look_ups_together_are_limited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MOST", 10)
    for number in range(50):
        stage.begin(f"silent{number}.example", uuid4())
    await stage.settle()
    assert stage.names.hanging == 10
    last = stage.begin("good.example", BEN)
    await stage.settle()
    assert not last.done()
    stage.tasks[0].cancel()
    await stage.settle()
    assert stage.names.silent["silent10.example"] == 1, "whoever came first is next"


async def test_an_owner_whose_look_up_hangs_has_one_place_for_new_names_and_keeps_some_for_quick_ones(
    alert_stage: Stage,
) -> None:
    stage = alert_stage
    stage.look_ups._keep_success("quick.example", is_quick=True)
    stage.begin("silent.example")
    await until(lambda: stage.look_ups._inside[Share.SUSPECT] == 1)
    new = stage.begin("new.example")
    assert await stage.resolve("quick.example") == (ADDRESS,)
    assert not new.done()

    stage.tasks[0].cancel()
    assert await asyncio.wait_for(new, WITHIN) == (ADDRESS,)
    for number in range(3):
        stage.begin(f"silent{number}.example")
    await stage.settle()
    assert stage.names.hanging == 1, "it is still suspect"
    await stage.end()

    stage.clock.now += SUSPECT_SECONDS
    for number in range(3):
        stage.begin(f"silent{number}.example")
    await stage.settle()
    assert stage.names.hanging == 2


async def test_a_suspect_owner_has_fewer_places_for_quick_names(
    alert_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = alert_stage
    hung = stage.begin("silent.example")
    await until(lambda: stage.look_ups._inside[Share.SUSPECT] == 1)
    hung.cancel()
    await stage.settle()
    monkeypatch.setattr(lookups, "QUICK_SECONDS", WITHIN * 10)
    for number in range(5):
        name = f"silent{number}.example"
        stage.look_ups._keep_success(name, is_quick=True)
        stage.begin(name)
        stage.begin(name, BEN)
    await stage.settle()
    assert stage.names.hanging == QUICK_OF_ONE_SUSPECT + OF_ONE_OWNER[Share.QUICK]


@pytest.mark.parametrize("name", ["bad.example", "silent.example"])
async def test_a_name_is_quick_only_if_it_was_resolved_quickly_the_last_time(alert_stage: Stage, name: str) -> None:
    stage = alert_stage
    stage.look_ups._keep_success(name, is_quick=True)
    failing = stage.begin(name)
    if name == "silent.example":
        await until(lambda: stage.look_ups._inside[Share.SUSPECT] == 1)
        assert stage.look_ups._inside[Share.QUICK] == 0
    else:
        await asyncio.gather(failing, return_exceptions=True)
        assert not stage.look_ups._get_name(name).is_quick


async def test_a_failing_name_is_not_asked_for_again_for_a_while_that_grows(stage: Stage) -> None:
    name = "bad.example"
    waits = []
    for _ in range(6):
        asked = len(stage.names.asked)
        with pytest.raises(OSError, match="bad"):
            await stage.resolve(name)
        assert len(stage.names.asked) == asked + 1
        until = stage.look_ups._names[name].failing_until
        waits.append(until - stage.clock.now)
        stage.clock.now = until - 0.01
        with pytest.raises(OSError, match="a moment ago"):
            await stage.resolve(name, BEN)
        assert len(stage.names.asked) == asked + 1
        stage.clock.now = until
    assert waits == [FIRST_FAILURE_SECONDS, 8.0, 16.0, *[LONGEST_FAILURE_SECONDS] * 3]


async def test_a_mended_name_works_and_begins_anew(stage: Stage) -> None:
    stage.names.bad = {"mended.example"}
    with pytest.raises(OSError, match="mended"):
        await stage.resolve("mended.example")
    stage.names.bad = set()
    stage.clock.now += FIRST_FAILURE_SECONDS
    assert await stage.resolve("mended.example") == (ADDRESS,)
    stage.names.bad = {"mended.example"}
    with pytest.raises(OSError, match="mended"):
        await stage.resolve("mended.example")
    assert stage.look_ups._names["mended.example"].failing_until == stage.clock.now + FIRST_FAILURE_SECONDS


async def test_who_waits_for_a_name_that_fails_meanwhile_does_not_ask_again(stage: Stage) -> None:
    asked = [stage.begin("bad.example") for _ in range(6)]
    failed = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, OSError) for each in failed)
    assert len(stage.names.asked) == OF_ONE_OWNER[Share.NEW]


async def test_a_cancelled_look_up_is_no_failure_of_the_name(stage: Stage) -> None:
    stage.begin("silent.example")
    await stage.settle()
    await stage.end()
    stage.begin("silent.example")
    await stage.settle()
    assert stage.names.asked == ["silent.example"] * 2


async def test_what_is_remembered_about_names_is_bounded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MAX_REMEMBERED", 8)
    for number in range(40):
        with pytest.raises(OSError, match="bad"):
            await stage.resolve(f"bad{number}.example")
        await stage.resolve(f"good{number}.example")
    assert len(stage.look_ups._names) == 8
    assert stage.look_ups._owners == {}, "an owner without look-ups and without suspicion is forgotten"


async def test_what_is_remembered_about_owners_is_bounded(alert_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = alert_stage
    monkeypatch.setattr(lookups, "MAX_REMEMBERED", 8)
    # The operator's is the oldest entry, and has no owner for its key.
    for owner_id in (None, *(uuid4() for _ in range(20))):
        hung = stage.begin(f"silent.{owner_id}.example", owner_id)
        await until(lambda: stage.look_ups._inside[Share.SUSPECT] == 1)
        hung.cancel()
        await stage.settle()
    assert len(stage.look_ups._owners) == 8


async def test_closing_ends_those_who_look_up_and_those_who_wait(stage: Stage) -> None:
    tasks = [stage.begin(f"silent{number}.example") for number in range(5)]
    await stage.settle()
    stage.look_ups.close()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WITHIN)
    assert all(isinstance(each, TimeoutError) for each in ended)
    assert stage.names.hanging == 0
