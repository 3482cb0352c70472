"""Whoever books, reschedules or cancels while a link arrives: nobody sees two links, and no one who stays sees none."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings import conferences
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import PUBLIC, EffectAttempt
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Clock, Runtime
from openslot.runtime import open_runtime
from tests.domains.bookings.conftest import offer
from tests.domains.bookings.support import book
from tests.support.effects import run_attempt
from tests.support.fake_conferences import BY_SLOW, SlowConference, install, read_links
from tests.support.races import find_disorder

pytestmark = pytest.mark.rest("lets several write at once, as the pairs of writers do")

ROUNDS = 4


@pytest.fixture
async def runtime(settings: Settings, clock: Clock) -> AsyncIterator[Runtime]:
    # One that gives another link each time it is asked shows every mistake.
    async with open_runtime(settings, clock=clock, fakes=install(SlowConference(ready_at=1, forgets=True))) as opened:
        yield opened


class Round(Struct, kw_only=True):
    runtime: Runtime
    event_type: EventType
    booking: Booking
    other: Booking | None
    """One who sits beside, in a group."""


async def join(at: Round) -> None:
    await book(at.runtime, at.event_type, at.booking.starts_at)


async def reschedule(at: Round, *, after: timedelta = timedelta(hours=1)) -> None:
    ref, start = BookingRef(at.booking.id, None), at.booking.starts_at + after
    await at.runtime.run(PUBLIC, lambda work: bookings.reschedule_booking(work, ref, start))


async def return_(at: Round) -> None:
    """Reschedule, and back again: into the session that is left, or a new one."""
    await reschedule(at)
    await reschedule(at, after=timedelta())


async def cancel(at: Round) -> None:
    await at.runtime.run(PUBLIC, lambda work: bookings.cancel_booking(work, BookingRef(at.booking.id, None)))


async def follow_up(at: Round) -> None:
    """Let the worker ask for the links of this meeting."""
    rows = await at.runtime.pool.fetch(
        """select f.id, f.round from effects f join events v on v.id = f.event_id
        where f.reaction = $1 and v.subject_id = any($2) and f.state = 'queued'""",
        conferences.MAKE_LINK,
        [each.id for each in (at.booking, at.other) if each],
    )
    for row in rows:
        await run_attempt(at.runtime, EffectAttempt(row["id"], row["round"]))


async def late_answer(at: Round) -> None:
    """Let the answer to an earlier question come, of an attempt that was given up."""
    claim_id, link = at.booking.claim_id, f"https://slow.example/late-{random.random()}"
    await at.runtime.run(PUBLIC, lambda work: conferences.keep_link(work, claim_id, link))


Writer = Callable[[Round], Awaitable[None]]
WRITERS: tuple[Writer, ...] = (join, reschedule, return_, cancel, follow_up, late_answer)


async def meet(at: Round, *writers: Writer) -> None:
    async def come(writer: Writer) -> None:
        await asyncio.sleep(random.random() * 0.004)
        # The time is taken, or the booking is cancelled.
        with suppress(Refusal):
            await writer(at)

    await asyncio.gather(*map(come, writers))


async def count_links(runtime: Runtime, booking_id: object) -> int:
    """Count the links that a booking's facts have told, apart from those of other sessions."""
    told: int = await runtime.pool.fetchval(
        """select coalesce(max(links), 0) from (
            select count(distinct v.fact #>> '{booking,location,value}') as links from events v
            where v.subject_id = $1 and v.fact #>> '{booking,location,value}' <> ''
            group by v.fact #>> '{booking,claim_id}') told""",
        booking_id,
    )
    return told


@pytest.mark.rest("lets many write at once")
@pytest.mark.parametrize("seats", [1, 3], ids=["single", "group"])
async def test_no_pair_shows_two_links_or_none(runtime: Runtime, user: User, seats: int, postgres_log: Path) -> None:
    event_type = await offer(runtime, user, "slow", location=BY_SLOW, seats=seats)
    for one, other in list(combinations_with_replacement(WRITERS, 2)) * ROUNDS:
        beside = await book(runtime, event_type) if seats > 1 else None
        booking = await book(runtime, event_type)
        await meet(Round(runtime=runtime, event_type=event_type, booking=booking, other=beside), one, other)
        await settle(runtime)

        names = f"{one.__name__} and {other.__name__}"
        found = await read_links(runtime)
        assert [links for links in found.confirmed.values() if len(set(links)) != 1 or "" in links] == [], names
        assert set(found.cancelled) <= {""}, names
        ids = [row["id"] for row in await runtime.pool.fetch("select id from bookings")]
        assert [each for each in ids if await count_links(runtime, each) > 1] == [], names
        for table in ("effects", "events", "bookings", "claim_seats", "claims"):
            await runtime.pool.execute(f"delete from {table}")
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def settle(runtime: Runtime) -> None:
    """Carry out all links that are still to be made; nobody's time is lost meanwhile."""
    while rows := await runtime.pool.fetch(
        "select id, round from effects where reaction = $1 and state = 'queued'", conferences.MAKE_LINK
    ):
        for row in rows:
            await run_attempt(runtime, EffectAttempt(row["id"], row["round"]))
    assert await find_disorder(runtime.pool) == {}
