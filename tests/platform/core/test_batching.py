"""Asking together: one statement for all who wait, an answer of their own for each."""

import asyncio
from collections.abc import Sequence

import pytest

from openslot.platform.core.turns import BATCHES_AT_ONCE, LARGEST_BATCH, Batcher


class Counter:
    """Doubles numbers, and remembers which were asked for together."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def double(self, numbers: Sequence[int]) -> list[int]:
        """Result a batch when the gate is open; a number below zero spoils its batch."""
        self.batches.append(list(numbers))
        await self.gate.wait()
        if min(numbers) < 0:
            raise ValueError("below zero")
        return [number * 2 for number in numbers]


async def test_alone_nobody_waits_for_company() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    assert [await line.ask(number) for number in (1, 2, 3)] == [2, 4, 6]
    assert counter.batches == [[1], [2], [3]]


async def test_who_comes_at_once_is_asked_for_at_once() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    assert await asyncio.gather(*(line.ask(number) for number in range(10))) == list(range(0, 20, 2))
    assert counter.batches == [list(range(10))]


async def test_who_comes_while_others_are_answered_goes_with_the_next_lot() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    counter.gate.clear()
    asked = []
    for number in range(6):
        asked.append(asyncio.create_task(line.ask(number)))
        await asyncio.sleep(0.001)
    counter.gate.set()
    assert await asyncio.gather(*asked) == [0, 2, 4, 6, 8, 10]
    assert counter.batches == [[0], [1], [2, 3, 4, 5]]


async def test_no_lot_is_larger_than_allowed() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    numbers = list(range(LARGEST_BATCH * 2 + 1))
    assert await asyncio.gather(*map(line.ask, numbers)) == [number * 2 for number in numbers]
    assert max(map(len, counter.batches)) == LARGEST_BATCH


async def test_fault_reaches_everyone_in_its_lot_and_nobody_else() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    failed = await asyncio.gather(*(line.ask(number) for number in (1, -1, 2)), return_exceptions=True)
    assert [str(each) for each in failed] == ["below zero"] * 3
    assert await line.ask(5) == 10


async def test_who_gives_up_takes_no_answer_from_the_others() -> None:
    counter = Counter()
    line = Batcher(counter.double)
    counter.gate.clear()
    asked = [asyncio.create_task(line.ask(number)) for number in range(3)]
    await asyncio.sleep(0.001)
    asked[1].cancel()
    counter.gate.set()
    assert [await asked[0], await asked[2]] == [0, 4]
    with pytest.raises(asyncio.CancelledError):
        await asked[1]


async def test_who_asks_again_right_behind_the_last_lots_is_answered() -> None:
    gate = asyncio.Event()

    async def double(numbers: Sequence[int]) -> list[int]:
        await gate.wait()
        return [number * 2 for number in numbers]

    line = Batcher(double)

    async def ask_twice(number: int) -> int:
        return await line.ask(number) + await line.ask(number)

    first = asyncio.create_task(ask_twice(1))
    await asyncio.sleep(0.001)
    others = []
    for number in range(1, BATCHES_AT_ONCE):
        others.append(asyncio.create_task(line.ask(number)))
        await asyncio.sleep(0.001)
    gate.set()
    assert await asyncio.wait_for(first, 60) == 4
    await asyncio.gather(*others)
