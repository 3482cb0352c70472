"""Kill web processes and workers while people book, and count what reaches those who are told about bookings."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from proofs.figures import Figure
from proofs.scene import count_arrived, scene
from tests.support.killable import Guests, Processes, count_told, list_starts, processes, wait_until_done

BOOKINGS, KILLS = 1000, 100
SHORT = 24, 6
AT_ONCE = 4


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Book, reschedule and cancel over two web processes and two workers that are killed again and again."""
    return asyncio.run(_prove(place, *(SHORT if short else (BOOKINGS, KILLS))))


async def _prove(place: Path, bookings: int, kills: int) -> list[Figure]:
    async with scene(place) as set_up:
        starts = await list_starts(set_up.runtime, set_up.user.id, 2 * bookings)
        began = time.monotonic()
        async with processes(set_up.settings, set_up.environment, webs=2) as running:
            async with Guests(running.ports, set_up.headers) as guests:
                await _book_all(guests, running, bookings, kills, starts)
            booked = time.monotonic() - began
            drained = await wait_until_done(set_up.runtime, within=300 + bookings)
        return [
            Figure("kill -9", running.kills, at_least=kills),
            Figure("bookings", bookings),
            Figure("requests without an answer", guests.answers[0]),
            Figure("seconds to book", round(booked)),
            Figure("seconds until all effects were done", round(drained)),
            *await count_arrived(set_up, bookings, count_told(bookings)),
        ]


async def _book_all(guests: Guests, running: Processes, bookings: int, kills: int, starts: Sequence[datetime]) -> None:
    """Book for so many guests, some at once, while the processes are killed."""
    numbers = iter(range(bookings))

    async def book() -> None:
        for number in numbers:
            await guests.book(number, starts)

    is_booked = asyncio.Event()
    killing = asyncio.create_task(running.kill_now_and_then(kills, is_booked))
    await asyncio.gather(*(book() for _ in range(AT_ONCE)))
    is_booked.set()
    await killing
