"""How requests wait: for their turn at what others change, and for a batch that shares a statement."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, NamedTuple, TypeVar, cast

import asyncpg

# One that runs and one that is next: the next one already waits in the database when the first commits.
MAX_OF_ONE = 2
_DETAIL = re.compile(r"turn (-?\d+) (-?\d+)")
Item = TypeVar("Item")
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


# Two, so that one batch is gathered and read while another is with the database.
BATCHES_AT_ONCE = 2
LARGEST_BATCH = 100


class Batcher(Generic[Item, Result]):
    """Answers single requests in batches; a request that arrives alone does not wait for others."""

    def __init__(self, ask: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._askers: set[asyncio.Task[None]] = set()

    async def ask(self, asked: Item) -> Result:
        return await self._join(asked)

    def tell(self, item: Item, *, max_waiting: int) -> None:
        """Join the next batch without waiting for it; dropped if this many wait already."""
        if len(self._waiting) < max_waiting:
            # Nobody awaits the answer, so a fault is marked as seen here.
            self._join(item).add_done_callback(lambda answer: answer.cancelled() or answer.exception())

    def _join(self, asked: Item) -> "asyncio.Future[Result]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((asked, answer))
        if len(self._askers) < BATCHES_AT_ONCE:
            # The task starts only after everything that is ready to run now has joined the batch.
            self._askers.add(loop.create_task(self._ask_for_all()))
        return answer

    async def _ask_for_all(self) -> None:
        try:
            await self._ask_while_any_wait()
        finally:
            # Without an await after finding nothing waiting: a later request must start a task of its own.
            self._askers.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _ask_while_any_wait(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            try:
                found = await self._ask([asked for asked, _ in batch])
            except Exception as fault:  # noqa: BLE001 - not swallowed: everyone in the batch gets it
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(fault)
                continue
            for (_, answer), each in zip(batch, found, strict=True):
                if not answer.done():
                    answer.set_result(each)
