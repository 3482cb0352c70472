"""Tests of an installation that runs: each uses one part of it for real, within seconds, and leaves nothing behind."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from time import perf_counter
from typing import NamedTuple

import structlog
from msgspec import Struct

from openslot.domains.calendars.errors import (
    CalendarFault,
    CalendarForbidden,
    CalendarSignInFailed,
    CalendarUnreadable,
    ConnectionNotFound,
)
from openslot.domains.calendars.models import ConnectionRef
from openslot.domains.calendars.operations import check_calendar_connection, list_next_connections
from openslot.domains.doctor.database import look_at_clock
from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.machine import look_at_mail
from openslot.domains.mail.ports import MailServers
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.effects import find_planned, forget_planned
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.outages import reason
from openslot.platform.core.work import Done, Outcome, Reaction, Runtime, Work
from openslot.platform.jobs.health import count_workers

ROUND_TRIP = "doctor.round_trip"
WITHIN = 20.0
"""Seconds that a test may take; each has shorter limits of its own where it waits for others."""
WORKED_WITHIN = 10.0
LOOK_EVERY = 0.05
ANSWERED_WITHIN = 10.0
MAX_CALENDARS = 10
FAULTS: Mapping[type[CalendarFault], str] = {
    CalendarSignInFailed: "refuse the sign-in",
    CalendarForbidden: "refuse access",
    CalendarUnreadable: "unreadable",
}

log = structlog.get_logger()


class SystemPart(StrEnum):
    DATABASE = "database"
    QUEUE = "queue"
    MAIL = "mail"
    CALENDARS = "calendars"
    CLOCK = "clock"


class PartResult(Struct, frozen=True, kw_only=True):
    """What came of one test; the message is English."""

    name: SystemPart
    ok: bool
    duration_ms: int
    message: str


class _Verdict(NamedTuple):
    ok: bool
    message: str


async def run_system_tests(runtime: Runtime, parts: Sequence[SystemPart] = tuple(SystemPart)) -> list[PartResult]:
    """Test these parts at the same time; a test that fails or takes too long is a result, too."""
    return await asyncio.gather(*(_test(runtime, part) for part in parts))


async def _test(runtime: Runtime, part: SystemPart) -> PartResult:
    began = perf_counter()
    try:
        async with asyncio.timeout(WITHIN):
            ok, message = await TESTS[part](runtime)
    except TimeoutError:
        ok, message = False, f"It did not end within {WITHIN:.0f} seconds."
    except Exception as fault:
        log.warning("a system test failed", part=part, exc_info=True)
        ok, message = False, f"It failed: {reason(fault)}."
    return PartResult(name=part, ok=ok, duration_ms=round((perf_counter() - began) * 1000), message=message)


async def _test_database(runtime: Runtime) -> _Verdict:
    """Write a row, read it, roll it back, and look whether it is gone."""
    key = str(new_id())
    async with runtime.transaction(SYSTEM) as work:
        await work.plan(ROUND_TRIP, key, due_at=work.now)
        is_written = await find_planned(work.db, ROUND_TRIP, key) is not None
        work.rolls_back = True
    is_gone = await find_planned(runtime.pool, ROUND_TRIP, key) is None
    if not is_written:
        return _Verdict(ok=False, message="A row that was written could not be read.")
    if not is_gone:
        return _Verdict(ok=False, message="A row that was rolled back is still there.")
    return _Verdict(ok=True, message="A row was written, read and rolled back.")


async def answer_round_trip(work: Work, effect: Effect) -> Outcome:
    """Do nothing: that a worker came here is what the test of the queue waits for."""
    return Done()


async def _test_queue(runtime: Runtime) -> _Verdict:
    """Give the workers something to do, and wait until it is done."""
    if not await count_workers(runtime.pool):
        return _Verdict(ok=False, message="No worker has reported for 30 seconds. Start one: openslot worker.")
    key, began = str(new_id()), perf_counter()
    async with runtime.transaction(SYSTEM) as work:
        await work.plan(ROUND_TRIP, key, due_at=work.now)
    try:
        while perf_counter() - began < WORKED_WITHIN:
            if await find_planned(runtime.pool, ROUND_TRIP, key) == "done":
                return _Verdict(ok=True, message="A worker has taken an effect and finished it.")
            await asyncio.sleep(LOOK_EVERY)
    finally:
        await forget_planned(runtime.pool, ROUND_TRIP, key)
    return _Verdict(
        ok=False, message=f"No worker finished an effect within {WORKED_WITHIN:.0f} seconds: too few run, or they hang."
    )


async def _test_mail(runtime: Runtime) -> _Verdict:
    """Connect to the mail server and sign in, without sending anything."""
    found = await asyncio.to_thread(look_at_mail, runtime.settings, runtime.ports.get(MailServers))
    return _Verdict(ok=found.state is not FindingState.PROBLEM, message=found.meaning)


async def _test_clock(runtime: Runtime) -> _Verdict:
    found = await look_at_clock(runtime.pool)
    return _Verdict(ok=found.state is FindingState.OK, message=found.meaning)


async def _test_calendars(runtime: Runtime) -> _Verdict:
    """Sign in to the calendars that are read next, as the sync does, and list what is there."""
    work = runtime.work(SYSTEM)
    refs = await list_next_connections(work, limit=MAX_CALENDARS)
    if not refs:
        return _Verdict(ok=True, message="No calendar is connected.")
    faults = Counter(filter(None, await asyncio.gather(*(_reach(work, ref) for ref in refs))))
    reached = f"{len(refs) - faults.total()} of {len(refs)} calendar connections respond."
    others = ", ".join(f"{count} {fault}" for fault, count in sorted(faults.items()))
    return _Verdict(ok=not faults, message=f"{reached} The others: {others}." if faults else reached)


async def _reach(work: Work, ref: ConnectionRef) -> str | None:
    """Return why a calendar can't be reached, without saying whose it is; None if it can."""
    try:
        async with asyncio.timeout(ANSWERED_WITHIN):
            await check_calendar_connection(work, ref)
    except TimeoutError:
        return f"without a response for {ANSWERED_WITHIN:.0f} seconds"
    except CalendarFault as fault:
        return FAULTS.get(type(fault), "unreachable")
    except ConnectionNotFound:
        # It was disconnected a moment ago.
        return None
    return None


TESTS: Mapping[SystemPart, Callable[[Runtime], Awaitable[_Verdict]]] = {
    SystemPart.DATABASE: _test_database,
    SystemPart.QUEUE: _test_queue,
    SystemPart.MAIL: _test_mail,
    SystemPart.CALENDARS: _test_calendars,
    SystemPart.CLOCK: _test_clock,
}

DOCTOR_REACTIONS = (Reaction(name=ROUND_TRIP, run=answer_round_trip),)
