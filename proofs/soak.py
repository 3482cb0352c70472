"""Run the service for hours while something breaks every few minutes: `python -m proofs.soak [--minutes N]`.

Two web processes and two workers; one of each is killed and frozen again and again, and the other one is there from
the beginning to the end, so that its memory can be compared.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import psutil
from msgspec import Struct

from proofs.figures import Figure
from proofs.proxy import Fault
from proofs.scene import PEERS, Scene, count_arrived, scene
from tests.support.killable import Guests, Processes, list_starts, processes, wait_until_done, wait_until_ready

KEPT, BROKEN = ("web 1", "worker 1"), ("web 2", "worker 2")
# So many bookings are not cancelled yet at any time; each has two times, which are free again long before others want
# them, unless the machine is too slow: then those wait.
LIVE, TIMES = 100, 1000
BOOK_EVERY, READ_EVERY = 1.0, 0.5
READ = ("/me", "/bookings", "/event-types", "/contacts")
# Longer than whoever meets silence waits for an answer, and longer than a worker may be silent.
LASTS = 35.0
GROWTH, SETTLED_AFTER = 10.0, 60.0
# The share of the bookings and faults that fit into the time which a slow machine must reach.
AT_LEAST = 0.8
DONE_WITHIN = 600.0


class Pace(Struct, frozen=True):
    """For how many seconds it runs, how often something breaks, and when the memory is read for the first time."""

    lasts: float
    fault_every: float

    @property
    def warm_up(self) -> float:
        return self.lasts / 6

    @property
    def fault_lasts(self) -> float:
        return min(LASTS, self.fault_every / 2)


LONG, SHORT = Pace(2 * 60 * 60, 5 * 60), Pace(30, 4)


class Ring(Sequence[datetime]):
    """Times that are given out again from the first one after the last."""

    def __init__(self, times: Sequence[datetime]) -> None:
        self._times = times

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, place: int) -> datetime:  # type: ignore[override]
        return self._times[place % len(self._times)]


class Soak:
    """One run: what it breaks, who books meanwhile, and what has been seen."""

    def __init__(
        self, set_up: Scene, running: Processes, guests: Guests, times: Sequence[datetime], pace: Pace
    ) -> None:
        self.bookings = self.events = 0
        self.faults: list[str] = []
        self.unmet: list[str] = []
        """Faults of a line that nobody used meanwhile."""
        self.refused: list[str] = []
        self.drained_after = 0.0
        self._set_up, self._running, self._guests, self._pace = set_up, running, guests, pace
        self._times = Ring(times)
        self._made: dict[int, asyncio.Task[UUID | None]] = {}
        self._frees: dict[int, asyncio.Task[UUID | None]] = {}
        """By the number of the booking that wants its times next."""
        self._is_over = asyncio.Event()

    async def run(self) -> dict[str, tuple[int, int]]:
        """Book and break until the time is up and everything is done; return the memory before and after, by name."""
        # If one of them fails, the others need not go on for hours.
        async with asyncio.TaskGroup() as others:
            for each in (self._book(), self._read(), self._break()):
                others.create_task(each)
            await self._rest(self._pace.warm_up)
            before = self._read_memory()
            await self._rest(self._pace.lasts - self._pace.warm_up)
            self._is_over.set()
        await asyncio.gather(*self._made.values())
        began = time.monotonic()
        with suppress(TimeoutError):
            await wait_until_done(self._set_up.runtime, within=DONE_WITHIN)
        self.drained_after = time.monotonic() - began
        return {name: (before[name], after) for name, after in self._read_memory().items()}

    def _read_memory(self) -> dict[str, int]:
        return {name: psutil.Process(self._running.running[name].pid).memory_info().rss for name in KEPT}

    async def _book(self) -> None:
        """Begin a booking every second, whatever has become of the others."""
        for number in count():
            if self._is_over.is_set():
                return
            self.bookings += 1
            self.events += 1 + (number % 3 == 0) + (number % 5 == 0)
            task = asyncio.create_task(self._book_one(number))
            self._made[number] = self._frees[number + len(self._times) // 2 - LIVE] = task
            await self._rest(BOOK_EVERY)

    async def _book_one(self, number: int) -> UUID | None:
        """Book, and free the time of an older booking; None if the booking was refused, which never may happen."""
        booking = None
        if number in self._frees:
            await self._frees.pop(number)
        try:
            booking = await self._guests.book(number, self._times)
        except AssertionError as refusal:
            self.refused.append(f"{number}: {refusal}")
            print(f"{time.strftime('%H:%M:%S'):>44}  refused: {self.refused[-1]}", flush=True)
        former = number - LIVE
        if former >= 0:
            cancelled = await self._made.pop(former)
            # Every fifth is cancelled soon after it is made.
            if former % 5 and cancelled:
                self.events += 1
                await self._guests.ask("POST", f"/bookings/{cancelled}/cancel", {}, key=f"free {former}")
        return booking

    async def _read(self) -> None:
        while not self._is_over.is_set():
            await self._guests.send("GET", random.choice(READ))
            await self._rest(READ_EVERY)

    async def _break(self) -> None:
        """Break one thing after the other, in turn."""
        began = time.monotonic()
        for turn, (name, fault) in enumerate(cycle(self._list_faults().items()), start=1):
            await self._rest(began + turn * self._pace.fault_every - time.monotonic())
            if self._is_over.is_set():
                return
            print(f"{time.strftime('%H:%M:%S'):>44}  {name}", flush=True)
            await fault()
            self.faults.append(name)

    def _list_faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        faults: dict[str, Callable[[], Awaitable[None]]] = {"kill PostgreSQL": self._set_up.kill_database}
        faults |= {f"kill {name}": partial(asyncio.to_thread, self._running.restart, name) for name in BROKEN}
        faults |= {f"{Fault.RESET}: {peer}": partial(self._cut, peer, Fault.RESET) for peer in PEERS}
        faults |= {f"freeze {name}": partial(self._freeze, name) for name in BROKEN}
        for fault in (Fault.BLACK_HOLE, Fault.DELAY):
            faults |= {f"{fault}: {peer}": partial(self._cut, peer, fault) for peer in PEERS}
        return faults

    async def _cut(self, peer: str, fault: Fault) -> None:
        line = self._set_up.proxies[peer]
        async with line.broken(fault):
            await asyncio.sleep(self._pace.fault_lasts)
        if not line.met:
            self.unmet.append(f"{fault}: {peer}")

    async def _freeze(self, name: str) -> None:
        """Stop a process where it is, as a machine that is moved does, and let it go on."""
        pid = self._running.running[name].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._pace.fault_lasts)
        finally:
            os.kill(pid, signal.SIGCONT)

    async def _rest(self, seconds: float) -> None:
        """Wait, but not beyond the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_over.wait(), max(seconds, 0))


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Run for two hours, or for less than a minute."""
    return asyncio.run(_prove(place, SHORT if short else LONG))


async def _prove(place: Path, pace: Pace) -> list[Figure]:
    async with scene(place, through=PEERS) as set_up:
        times = await list_starts(set_up.runtime, set_up.user.id, TIMES)
        async with (
            processes(set_up.settings, set_up.environment, webs=2) as running,
            Guests(running.ports, set_up.headers, timeout=90) as guests,
        ):
            await wait_until_ready(set_up.runtime, running, set_up.headers)
            soak = Soak(set_up, running, guests, times, pace)
            memory = await soak.run()
            return [
                *_judge(soak, guests, pace, memory),
                *await count_arrived(set_up, soak.bookings, soak.events),
            ]


def _judge(soak: Soak, guests: Guests, pace: Pace, memory: dict[str, tuple[int, int]]) -> list[Figure]:
    others = sum(many for status, many in guests.answers.items() if status not in {0, 200, 201, 409, 503})
    # Caches fill for longer than the short form lasts.
    is_long = pace.warm_up >= SETTLED_AFTER
    most = GROWTH if is_long else None
    figures = [
        Figure("minutes", round(pace.lasts / 60, 1)),
        Figure("faults", len(soak.faults), at_least=int(pace.lasts / pace.fault_every * AT_LEAST) if is_long else None),
        Figure("faults that nobody met", len(soak.unmet), at_most=0 if is_long else None),
        Figure("bookings", soak.bookings, at_least=int(pace.lasts / BOOK_EVERY * AT_LEAST) if is_long else 1),
        Figure("answers", sum(guests.answers.values()) - guests.answers[0]),
        Figure("requests without an answer", guests.answers[0]),
        Figure("answers 503", guests.answers[503]),
        Figure("bookings that were refused", len(soak.refused), at_most=0),
        Figure("seconds until all effects were done", round(soak.drained_after)),
        Figure("answers that were not JSON", len(guests.other_than_json), at_most=0),
        Figure("answers other than success, 409 and 503", others, at_most=0),
    ]
    for name, (before, after) in memory.items():
        figures += [
            Figure(f"{name.split()[0]}: MB after warm-up, at the end", f"{before / 1e6:.0f}, {after / 1e6:.0f}"),
            Figure(f"{name.split()[0]}: memory growth, %", round(100 * (after / before - 1), 1), at_most=most),
        ]
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs.soak", description="Run for hours while things break.")
    parser.add_argument("--minutes", type=float, default=LONG.lasts / 60, help="how long it runs [default: 120]")
    parser.add_argument("--every", type=float, default=LONG.fault_every, help="seconds between faults [default: 300]")
    chosen = parser.parse_args()
    with TemporaryDirectory(prefix="openslot-soak-") as name:
        place = Path(name)
        place.chmod(0o755)
        figures = asyncio.run(_prove(place, Pace(60 * chosen.minutes, chosen.every)))
    for figure in figures:
        print(figure)
    return 0 if all(figure.is_kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
