"""Turns: transactions that change the same thing come one after the other, and wait for it without a connection."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import asyncpg

# One that works and one that comes next: whoever is next already waits in the database when the other commits.
MOST_OF_ONE = 2
_DETAIL = re.compile(r"turn (-?\d+) (-?\d+)")


class Turn(NamedTuple):
    """What transactions take turns at: the two numbers of an advisory lock."""

    kind: int
    no: int


class TurnTimeoutError(TimeoutError):
    """Others had their turn for as long as one may wait for it."""


def find_turn(fault: asyncpg.LockNotAvailableError) -> Turn | None:
    """Tell whose turn a transaction would have to wait for; None where it has waited for a lock and was refused."""
    found = _DETAIL.fullmatch(fault.detail or "")
    return Turn(int(found[1]), int(found[2])) if found else None


class Turns:
    """Lets few of those who wait for one thing, and of all who wait, have a connection at a time."""

    def __init__(self, *, most: int, wait_seconds: float) -> None:
        self._most_of_one = min(MOST_OF_ONE, most)
        self._all = asyncio.Semaphore(most)
        self._wait_seconds = wait_seconds
        self._lines: dict[Turn, tuple[asyncio.Semaphore, set[object]]] = {}

    @asynccontextmanager
    async def wait(self, turn: Turn) -> AsyncIterator[None]:
        """Wait in line, in order of coming and not for ever, and keep the place while the `async with` lasts."""
        line, members = self._lines.setdefault(turn, (asyncio.Semaphore(self._most_of_one), set()))
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
