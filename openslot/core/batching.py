"""Batching: requests that arrive while others are being answered share the next statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")
Result = TypeVar("Result")

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
        """Ask as part of the next batch."""
        return await self._join(asked)

    def tell(self, item: Item, *, max_waiting: int) -> None:
        """Join the next batch without waiting for it; dropped where this many wait already."""
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
