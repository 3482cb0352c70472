"""Set the clock of one process an hour or a day ahead or back while people book, and then of all but the database's.

What is promised: nothing is lost, doubled or booked twice. Limits count by the database's clock. A process whose clock
was set back accepts what has expired for no longer than the step, and one whose clock was set ahead refuses it that
much too early. If the clocks of all processes are set back, a retry that was planned before comes late by no more than
the step; what happens after the step is done at once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.availability import operations as availability
from openslot.domains.availability.claims import operations as claims
from openslot.domains.availability.models import ById, BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Runtime, system_clock
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from proofs.figures import Figure
from proofs.scene import Scene, count_arrived, scene
from tests.support.killable import Guests, list_starts, wait_until_done
from tests.support.live import serving

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
STEPS = (HOUR, -HOUR, DAY, -DAY)
LIMIT = 60
# Far enough ahead to be open for whoever believes that it is tomorrow.
FIRST_START = 200
DONE_WITHIN = 45.0
FAILED_ONCE = "select count(*) from effects where reaction = 'webhooks.send' and state = 'queued' and attempts > 0"


class SteppedClock:
    """The clock of a process, which may be set."""

    def __init__(self) -> None:
        self.step = timedelta()

    def __call__(self) -> datetime:
        return system_clock() + self.step


class Machine(Struct, frozen=True, kw_only=True):
    """A web process and a worker with a clock of their own."""

    clock: SteppedClock
    runtime: Runtime
    port: int


@asynccontextmanager
async def machine(set_up: Scene) -> AsyncIterator[Machine]:
    """Run a web process and a worker in this event loop."""
    clock, stop = SteppedClock(), asyncio.Event()
    flags = {"database_url": set_up.settings.database_url, "data_dir": set_up.data_dir, "log_level": "error"}
    settings = load_settings(flags, environ={**set_up.environment, "OPENSLOT_OUTBOUND_ALLOW": "127.0.0.0/8"})
    set_up_logging(settings)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(create_app(settings, clock=clock)))
        runtime = await stack.enter_async_context(open_runtime(settings, clock=clock))
        working = asyncio.create_task(run_worker(runtime, stop))
        try:
            yield Machine(clock=clock, runtime=runtime, port=int(url.rpartition(":")[2]))
        finally:
            stop.set()
            await working


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Set clocks while people book, and count what was lost, doubled, accepted and let through."""
    return asyncio.run(_prove(place, STEPS[2:] if short else STEPS, STEPS[3:] if short else STEPS))


async def _prove(place: Path, steps: Sequence[timedelta], of_machine: Sequence[timedelta]) -> list[Figure]:
    async with scene(place) as set_up:
        starts = (await list_starts(set_up.runtime, set_up.user.id, FIRST_START + 100))[FIRST_START:]
        numbers, seconds = iter(range(1000)), []
        booked: list[int] = []

        async def book(at: Machine) -> None:
            booked.append(next(numbers))
            await _wait_until_open(set_up, at, starts[2 * booked[-1]])
            async with Guests([at.port], set_up.headers) as guest:
                await guest.book(booked[-1], starts)

        async def step(clock: SteppedClock, by: timedelta, *machines: Machine) -> None:
            """Let a webhook fail, set a clock, book at each machine, and wait until everything is done."""
            set_up.receiver.answer(503)
            await book(machines[0])
            while not await set_up.runtime.pool.fetchval(FAILED_ONCE):
                await asyncio.sleep(0.05)
            clock.step = by
            set_up.receiver.answer(204)
            for each in machines:
                await book(each)
            if len(machines) == 1 and by < timedelta():
                # What was planned before comes when the clock is where it was.
                await asyncio.sleep(2)
                clock.step = timedelta()
            seconds.append(await wait_until_done(set_up.runtime, within=120))
            print(f"{by.total_seconds() / 3600:>+44.0f}  hours: all was done after {seconds[-1]:.1f} s", flush=True)

        async with machine(set_up) as set_, machine(set_up) as other:
            for by in steps:
                await step(set_.clock, by, set_, other)
                set_.clock.step = timedelta()
            checks = await _check_limit(set_up, set_, steps)
            checks += await _check_expiry(set_up, set_, steps)
            winners = await _book_around_holds(set_up, set_, other, starts[-20:], steps)
        async with machine(set_up) as alone:
            for by in of_machine:
                await step(alone.clock, by, alone)
                alone.clock.step = timedelta()
        events = sum(1 + (number % 3 == 0) + (number % 5 == 0) for number in booked)
        return [
            Figure("clocks set", len(steps) + len(of_machine)),
            Figure("longest until all was done, s", round(max(seconds), 1), within=DONE_WITHIN),
            *checks,
            Figure("times held and booked twice", sum(many > 1 for many in winners), at_most=0),
            Figure("times held that nobody could book", sum(many == 0 for many in winners), at_most=0),
            *await count_arrived(set_up, len(booked) + sum(winners), events + sum(winners)),
        ]


async def _wait_until_open(set_up: Scene, at: Machine, start: datetime) -> None:
    """Wait until a time is offered: no time is, while a calendar seems not to have been read for a day."""
    which, on = BySlug(set_up.user.id, "short"), start.date()
    async with asyncio.timeout(60):
        while True:
            work = at.runtime.work(OPERATOR)
            _, slots, _ = await availability.list_open_slots(work, which, timezone="UTC", first=on, last=on)
            if int(start.timestamp()) in slots.starts:
                return
            await asyncio.sleep(0.2)


async def _check_limit(set_up: Scene, set_: Machine, steps: Sequence[timedelta]) -> list[Figure]:
    """Use a key up to its limit, and try again under each clock."""
    async with set_up.runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, set_up.user, name="limit")
    async with Guests([set_.port], {"Authorization": f"Bearer {key}"}) as guest:
        for by in (timedelta(), *steps):
            set_.clock.step = by
            for _ in range(LIMIT // len(steps)):
                await guest.send("GET", "/me")
        answer = await guest.send("GET", "/me")
    set_.clock.step = timedelta()
    waits = int(answer.headers.get("retry-after", "0")) if answer is not None else 0
    return [
        Figure("requests let through in a minute", guest.answers[200], at_least=LIMIT, at_most=LIMIT),
        Figure("requests over the limit", guest.answers[429], at_least=1),
        Figure("Retry-After under a set clock, s", waits, at_least=1, at_most=60),
    ]


async def _check_expiry(set_up: Scene, set_: Machine, steps: Sequence[timedelta]) -> list[Figure]:
    """Ask with keys that have expired, under a clock that was set back by less and by more than that."""
    expected: list[int] = []
    answered: list[int] = []
    for by in steps:
        for ago in (abs(by) / 2, abs(by) * 2):
            async with set_up.runtime.transaction(OPERATOR) as work:
                key, _ = await access.create_api_key(work, set_up.user, name=f"{by} {ago}", expires_at=work.now + DAY)
            await set_up.runtime.pool.execute(
                "update api_keys set expires_at = $2 where hash = $1", fingerprint(key), system_clock() - ago
            )
            set_.clock.step = by
            async with Guests([set_.port], {"Authorization": f"Bearer {key}"}) as guest:
                answer = await guest.send("GET", "/me")
            expected.append(200 if -by > ago else 401)
            answered.append(answer.status_code if answer is not None else 0)
            # So many refusals would close the door to this address for a minute.
            await set_up.runtime.pool.execute("delete from rate_log")
    set_.clock.step = timedelta()
    wrong = sum(one != other for one, other in zip(expected, answered, strict=True))
    return [
        Figure("expired keys tried", len(answered), at_least=2 * len(steps)),
        Figure("of these, not refused or accepted as the clock says", wrong, at_most=0),
    ]


async def _book_around_holds(
    set_up: Scene, set_: Machine, other: Machine, starts: Sequence[datetime], steps: Sequence[timedelta]
) -> list[int]:
    """Hold a time under one clock, book it under another, and then as the holder; tell how often each was booked."""
    event_type = ById(await set_up.runtime.pool.fetchval("select id from event_types where slug = 'short'"))
    booked = []
    for number, by in enumerate(steps):
        set_.clock.step = by
        async with other.runtime.transaction(PUBLIC) as work:
            held = await claims.hold_slot(work, event_type, starts[number], holder=f"198.51.100.{number}")
        winners = 0
        for runtime, hold_id in ((set_.runtime, None), (other.runtime, held.id)):
            invitee = Invitee(name="Gus", email=f"gus{number}@okafor.example", zone="UTC")
            wanted = BookingWanted(which=event_type, starts_at=starts[number], invitee=invitee, hold_id=hold_id)
            with suppress(Refusal):
                async with runtime.transaction(PUBLIC) as work:
                    await bookings.create_booking(work, wanted)
                winners += 1
        booked.append(winners)
    set_.clock.step = timedelta()
    return booked
