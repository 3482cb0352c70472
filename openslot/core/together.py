"""Asking together: who comes while others are being answered is asked for with the next lot, in one statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

# Two, so that one lot is gathered and read while another is with the database.
LOTS_AT_ONCE = 2
LARGEST_LOT = 100


class Together(Generic[Asked, Answer]):
    """Answers one by one what is asked for lot by lot; alone, nobody waits for company."""

    def __init__(self, ask: Callable[[Sequence[Asked]], Awaitable[Sequence[Answer]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._askers: set[asyncio.Task[None]] = set()

    async def ask(self, asked: Asked) -> Answer:
        """Ask with the next lot."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((asked, answer))
        if len(self._askers) < LOTS_AT_ONCE:
            # A task begins after everyone who has come by now is in line.
            self._askers.add(loop.create_task(self._ask_for_all()))
        return await answer

    async def _ask_for_all(self) -> None:
        try:
            await self._ask_while_any_wait()
        finally:
            # In the very step that finds nobody waiting: who comes a moment later must not count on this one.
            self._askers.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _ask_while_any_wait(self) -> None:
        while self._waiting:
            lot, self._waiting = self._waiting[:LARGEST_LOT], self._waiting[LARGEST_LOT:]
            try:
                found = await self._ask([asked for asked, _ in lot])
            except Exception as fault:  # noqa: BLE001 - not swallowed: everyone in the lot gets it
                for _, answer in lot:
                    if not answer.done():
                        answer.set_exception(fault)
                continue
            for (_, answer), each in zip(lot, found, strict=True):
                if not answer.done():
                    answer.set_result(each)
