"""The worker: takes effects that are due, runs them beside each other, runs periodic jobs, and sends heartbeats."""

import asyncio
import os
import socket
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import asyncpg
import structlog

from openslot.platform.core.connecting import connect
from openslot.platform.core.db import DOWN
from openslot.platform.core.effects import LOOK_EVERY, take_abandoned, take_effects
from openslot.platform.core.events import CHANNEL, Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import direct_url
from openslot.platform.core.outages import OUTAGE, is_lost, reason
from openslot.platform.core.queue_order import Ring
from openslot.platform.core.work import Periodic, Runtime
from openslot.platform.jobs import store
from openslot.platform.jobs.effects import Insistence, Unstored, run_effect
from openslot.platform.jobs.periodic import claim_run, run_periodic, until_next
from openslot.platform.jobs.places import FairPlaces

BEAT_EVERY = timedelta(seconds=3)
# Others take what a worker runs that has sent no heartbeat for 15 seconds. By then it has to have noticed that a server
# is silent, and to have found the next one.
CONNECT_WITHIN = 10.0
ANSWER_WITHIN = 5.0
CLOSE_WITHIN = 1.0
# No notice comes through a pooler.
LOOK_EVERY_THROUGH_POOLER = timedelta(seconds=1)
MAX_TAKEN = 20
LONGEST_PAUSE = 10.0
# After a failover one of the addresses may still lead to the former primary.
TWO_DATABASES = "DATABASE_URL and OPENSLOT_DIRECT_DATABASE_URL lead to different databases"

log = structlog.get_logger()


async def run_worker(runtime: Runtime, stop: asyncio.Event) -> None:
    """Run until told to stop, and start again whenever the database was unreachable."""
    worker = Worker(runtime)
    runtime.one(Insistence).begin()
    pause = 0.5
    while not stop.is_set():
        try:
            await worker.work(stop)
            pause = 0.5
        except (*DOWN, asyncpg.PostgresError, RuntimeError) as fault:
            if isinstance(fault, DOWN):
                OUTAGE.begin(reason(fault))
            else:
                log.warning("The worker can't use the database", error=str(fault), next_try_in_seconds=pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)
    await worker.finish_running()
    with suppress(*DOWN, asyncpg.PostgresError):
        await store.delete_beat(runtime.pool, worker.id)


class Worker:
    """What one worker process is running now, and when it looks for more."""

    def __init__(self, runtime: Runtime) -> None:
        self.id = new_id()
        self._runtime = runtime
        self._places = runtime.settings.worker_concurrency
        self._max_taken = min(MAX_TAKEN, self._places // 2)
        self._fair_places = FairPlaces(count=self._places)
        self._ring = Ring()
        # By task: while one attempt hangs, another worker may have put the effect back, and this one taken it again.
        self._effects: dict[asyncio.Task[None], UUID] = {}
        self._periodic: dict[str, asyncio.Task[None]] = {}
        self._woken = asyncio.Event()
        self._is_ending = False

    async def work(self, stop: asyncio.Event) -> None:
        """Work until told to stop, and finish what is running then; or until the connection is lost."""
        url = direct_url(self._runtime.settings)
        connection = await connect(url, within=CONNECT_WITHIN, command_timeout=ANSWER_WITHIN)
        OUTAGE.end()
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            await connection.add_listener(CHANNEL, lambda *_: self._woken.set())
            await self._beat(connection)
            await self._work_until(stop, lost, self._keep_beating(connection))
        finally:
            with suppress(*DOWN):
                await connection.close(timeout=CLOSE_WITHIN)

    async def _work_until(self, stop: asyncio.Event, lost: asyncio.Event, beat: Coroutine[None, None, None]) -> None:
        self._is_ending = False
        taking, ticking = asyncio.create_task(self._take_effects()), asyncio.create_task(self._run_periodic())
        others = [asyncio.create_task(beat), ticking, *(asyncio.create_task(event.wait()) for event in (stop, lost))]
        try:
            done, _ = await asyncio.wait([taking, *others], return_when=asyncio.FIRST_COMPLETED)
            # A statement that takes effects is not cancelled: nobody would know what it has taken.
            self._is_ending = True
            self._woken.set()
            await taking
            for task in done:
                task.result()
            # If only the connection is lost, what is running goes on, and heartbeats soon do, too.
            if stop.is_set():
                await self.finish_running()
        finally:
            for task in (taking, *others):
                task.cancel()

    async def finish_running(self) -> None:
        """Wait for what is running, but not for a database that can't store its results."""
        self._runtime.one(Insistence).end()
        while running := [*self._effects, *self._periodic.values()]:
            await asyncio.wait(running)

    async def _take_effects(self) -> None:
        loop = asyncio.get_running_loop()
        look_every = LOOK_EVERY_THROUGH_POOLER if self._runtime.settings.database_pooler else LOOK_EVERY
        look_for_abandoned_at = 0.0
        while not self._is_ending:
            self._woken.clear()
            wait = look_every
            if self._has_room:
                if loop.time() >= look_for_abandoned_at:
                    look_for_abandoned_at = loop.time() + BEAT_EVERY.total_seconds()
                    await self._take_abandoned()
                now = self._runtime.clock()
                # A quarter of it more is taken in turn.
                pool, limit = self._runtime.pool, self._max_taken - self._max_taken // 5
                effects, due_at = await take_effects(pool, self.id, now=now, limit=limit, ring=self._ring)
                self._start(effects)
                if len(effects) >= limit:
                    continue
                wait = min(due_at - now, wait) if due_at is not None else wait
            timer = self._wake_in(wait)
            await self._woken.wait()
            timer.cancel()

    @property
    def _has_room(self) -> bool:
        return len(self._effects) + self._max_taken <= self._places

    async def _take_abandoned(self) -> None:
        """Take what dead workers have left, and what this one has taken but is not running."""
        pool, now = self._runtime.pool, self._runtime.clock()
        running = list(self._effects.values())
        self._start(await take_abandoned(pool, self.id, now=now, limit=self._max_taken, running=running))

    def _start(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            task = _start(self._run(effect))
            self._effects[task] = effect.id
            task.add_done_callback(self._leave)

    async def _run(self, effect: Effect) -> None:
        next_in = await run_effect(self._runtime, effect, self._fair_places)
        if next_in is not None:
            self._wake_in(next_in)

    def _leave(self, task: asyncio.Task[None]) -> None:
        had_room = self._has_room
        del self._effects[task]
        if self._has_room and not had_room:
            self._woken.set()

    def _wake_in(self, time: timedelta) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(time.total_seconds(), self._woken.set)

    async def _run_periodic(self) -> None:
        """Start each periodic job when it is due, unless another worker does or it is still running."""
        since = self._runtime.clock()
        while True:
            for job in self._runtime.wiring.periodic:
                if job.name not in self._periodic and await claim_run(self._runtime, job, self.id, since=since):
                    self._periodic[job.name] = _start(self._run_periodic_job(job))
            await asyncio.sleep(until_next(self._runtime.wiring.periodic, now=self._runtime.clock()).total_seconds())

    async def _run_periodic_job(self, job: Periodic) -> None:
        try:
            await run_periodic(self._runtime, job)
        finally:
            del self._periodic[job.name]

    async def _keep_beating(self, connection: asyncpg.Connection) -> None:
        while True:
            await asyncio.sleep(BEAT_EVERY.total_seconds())
            await self._beat(connection)

    async def _beat(self, connection: asyncpg.Connection) -> None:
        """Store a heartbeat; raise an error if the connection leads to another database."""
        runtime = self._runtime
        at = await store.beat(runtime.pool, self.id, host=socket.gethostname(), pid=os.getpid(), now=runtime.clock())
        if not await store.sees_beat(connection, self.id, at=at):
            await store.delete_beat(runtime.pool, self.id)
            raise RuntimeError(TWO_DATABASES)


def _start(run: Coroutine[None, None, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(run)
    task.add_done_callback(_report)
    return task


def _report(task: asyncio.Task[None]) -> None:
    """Report what could not even be stored: the effect or job is taken up again."""
    if task.cancelled() or (fault := task.exception()) is None:
        return
    if is_lost(fault):
        OUTAGE.begin(reason(fault))
    elif isinstance(fault, Unstored):
        log.warning("A result could not be stored before the stop; its effect is taken up again", error=str(fault))
    else:
        log.error("The result could not be stored", exc_info=fault)
