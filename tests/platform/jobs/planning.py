"""A reaction that is planned for a time, and what tests do with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from msgspec import Struct

from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.db import Row
from openslot.platform.core.events import Effect
from openslot.platform.core.work import Done, Outcome, Reaction, Runtime, TryLater, Wiring, Work
from openslot.platform.i18n import CodedReason
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Poked
from tests.support.clocks import MovingClock
from tests.support.effects import run_attempt

REMIND = "probe.remind"
HOUR = timedelta(hours=1)


class Reminder(Struct, frozen=True):
    """What a reminder says."""

    text: str


class Reminders:
    """Remembers what was sent, and fails or waits as it is told."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.failures = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def send(self, work: Work, effect: Effect) -> Outcome:
        """Send one reminder."""
        del work
        self.began.set()
        await self.may_end.wait()
        if self.failures > 0:
            self.failures -= 1
            raise TryLater("no stamps")
        self.sent.append(effect.plan(Reminder).text)
        return Done()

    @property
    def wiring(self) -> Wiring:
        """Attach it."""
        return Wiring(events=(Poked,), reactions=(Reaction(name=REMIND, run=self.send, delays=(HOUR,)),))


@asynccontextmanager
async def planning(settings: Settings) -> AsyncIterator[tuple[Runtime, Reminders, MovingClock]]:
    """Open a runtime with the reaction attached, on a clock that tests move."""
    reminders, clock = Reminders(), MovingClock()
    async with open_runtime(settings, wiring=reminders.wiring, clock=clock) as runtime:
        yield runtime, reminders, clock


async def plan(runtime: Runtime, text: str, *, due_at: datetime, key: str = "one") -> None:
    """Plan a reminder in a transaction of its own."""
    async with runtime.transaction(OPERATOR) as work:
        await work.plan(REMIND, key, due_at=due_at, payload=Reminder(text))


async def move(runtime: Runtime, *, due_at: datetime, key: str = "one") -> bool:
    """Move a reminder in a transaction of its own."""
    async with runtime.transaction(OPERATOR) as work:
        return await work.move_planned(REMIND, key, due_at=due_at)


async def drop(runtime: Runtime, *, key: str = "one") -> bool:
    """Drop a reminder in a transaction of its own."""
    async with runtime.transaction(OPERATOR) as work:
        return await work.drop_planned(REMIND, key, reason=CodedReason("test.cancelled", "the meeting was cancelled"))


async def rows(runtime: Runtime) -> list[Row]:
    """Read all effects in the order in which they were written."""
    return list(await runtime.pool.fetch("select * from effects order by no"))


async def states(runtime: Runtime) -> list[str]:
    """Read how they stand."""
    return [row["state"] for row in await rows(runtime)]


async def jobs(runtime: Runtime) -> list[EffectAttempt]:
    """Name the try that each effect which is not finished is waiting for."""
    return [EffectAttempt(row["id"], row["round"]) for row in await rows(runtime) if row["state"] == "queued"]


async def run_due(runtime: Runtime, clock: MovingClock) -> None:
    """Run what is due at this moment, as a worker would."""
    for row in await rows(runtime):
        if row["state"] == "queued" and row["next_try_at"] <= clock.now:
            await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))


async def until_somebody_waits_for_a_lock(runtime: Runtime) -> None:
    """Wait until a statement is held up by another transaction."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(60):
        while not await runtime.pool.fetchval(waiting):
            await asyncio.sleep(0.01)
