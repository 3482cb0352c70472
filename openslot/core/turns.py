"""Turns: transactions that change the same thing run one after the other, and wait without holding a connection."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, TypeVar

import asyncpg

# One that runs and one that is next: the next one already waits in the database when the first commits.
MAX_OF_ONE = 2
_DETAIL = re.compile(r"turn (-?\d+) (-?\d+)")
Result = TypeVar("Result")


class Turn(NamedTuple):
    """What transactions take turns at: the two numbers of an advisory lock."""

    kind: int
    no: int


class TurnTimeoutError(TimeoutError):
    """No turn within the time limit."""


def find_turn(fault: asyncpg.LockNotAvailableError) -> Turn | None:
    """Return the turn that a transaction would have to wait for; None if its wait for a lock timed out."""
    found = _DETAIL.fullmatch(fault.detail or "")
    return Turn(int(found[1]), int(found[2])) if found else None


class Turns:
    """Limits how many of those that wait for one turn, and of all that wait, have a connection at a time."""

    def __init__(self, *, max_: int, wait_seconds: float) -> None:
        self._max_of_one = min(MAX_OF_ONE, max_)
        self._all = asyncio.Semaphore(max_)
        self._wait_seconds = wait_seconds
        self._lines: dict[Turn, tuple[asyncio.Semaphore, set[object]]] = {}

    async def run(self, act: Callable[..., Awaitable[Result]]) -> Result:
        """Run a transaction; if another has the turn, wait in line without a connection and run it with `waits`."""
        try:
            return await act(waits=False)
        except asyncpg.LockNotAvailableError as fault:
            turn = find_turn(fault)
            if turn is None:
                raise
        async with self.wait(turn):
            return await act(waits=True)

    @asynccontextmanager
    async def wait(self, turn: Turn) -> AsyncIterator[None]:
        """Wait in line, first come first served and up to a time limit, and keep the place during the `async with`."""
        line, members = self._lines.setdefault(turn, (asyncio.Semaphore(self._max_of_one), set()))
        member = object()
        members.add(member)
        try:
            async with self._place(line, self._all):
                yield
        finally:
            members.discard(member)
            if not members:
                del self._lines[turn]

    @asynccontextmanager
    async def _place(self, line: asyncio.Semaphore, everyone: asyncio.Semaphore) -> AsyncIterator[None]:
        taken: list[asyncio.Semaphore] = []
        try:
            try:
                async with asyncio.timeout(self._wait_seconds):
                    for semaphore in (line, everyone):
                        await semaphore.acquire()
                        taken.append(semaphore)
            except TimeoutError:
                raise TurnTimeoutError(f"others had their turn for {self._wait_seconds:g} seconds") from None
            yield
        finally:
            for semaphore in reversed(taken):
                semaphore.release()
