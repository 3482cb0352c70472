"""Every pair of those who change an offered time, at the same moment: it is kept for one, and no booking is lost."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User, UserWanted
from openslot.availability import claims
from openslot.availability.claims import expire_holds
from openslot.availability.models import ById
from openslot.bookings import operations as bookings
from openslot.bookings.models import Booking, BookingRef
from openslot.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.http.errors import status_of
from openslot.people import operations as people
from openslot.wait_list import operations as wait_list
from tests.support.clocks import real_clock as clock
from tests.support.races import find_disorder
from tests.support.wait_list import (
    ask_to_wait,
    book_day,
    cancel_day,
    find_wait_list_faults,
    hand_out,
    offer_day,
    take_offer,
    wait_for,
)

__all__ = ["clock"]

ROUNDS = 20 if os.environ.get("OPENSLOT_LONG") else 1


class Round(Struct, kw_only=True):
    """One host, one full day with a time that is offered to the first, and others who wait."""

    runtime: Runtime
    host: User
    day: EventType
    start: datetime
    booked: Booking
    """The day after is booked, and somebody waits for it."""
    first: UUID
    second: UUID
    newcomer: UUID


async def book(at: Round) -> None:
    await book_day(at.runtime, at.day, at.start, email=f"{new_id()}@x.example")


async def hold(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await claims.hold(work, ById(at.day.id), at.start, holder=str(new_id()))


async def accept(at: Round) -> None:
    await take_offer(at.runtime, at.first)


async def decline(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.decline(work, at.first)


async def leave(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.leave(work, at.first)


async def confirm(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await wait_list.confirm(work, at.newcomer)


async def expire(at: Round) -> None:
    """Let the offer expire in this very moment, and both jobs of the minute come by."""
    await at.runtime.pool.execute(
        """with told as (update wait_list_offers set expires_at = now() where entry_id = $1 returning claim_id)
        update claims set expires_at = now() from told where id = told.claim_id and kind = 'offer'""",
        at.first,
    )
    await expire_holds(at.runtime.work(SYSTEM))
    await hand_out(at.runtime)


async def come_by(at: Round) -> None:
    await hand_out(at.runtime)


async def cancel(at: Round) -> None:
    await cancel_day(at.runtime, at.booked)


async def move(at: Round) -> None:
    """Move the booking of the day after to the time that is offered."""
    async with at.runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(at.booked.id, None), at.start)


async def switch_off(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await wait_list.set_up(work, at.host, at.day.id, minutes=None)


async def edit(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        current = await event_types.get_for_change(work, at.host, at.day.id)
        await event_types.change_event_type(work, replace(current, active=random.choice([True, False])))


async def remove(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await wait_list.remove(work, at.host, at.day.id, at.first)


async def disable(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.host)


Writer = Callable[[Round], Awaitable[None]]
WRITERS: tuple[Writer, ...] = (
    *(book, hold, accept, decline, leave, confirm, expire, come_by, cancel, move, switch_off, edit, remove, disable),
)


async def prepare(runtime: Runtime, **kind: Any) -> Round:
    """Open an account with an offered time: one was booked, two wait, it was cancelled."""
    start = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=2)
    start += timedelta(days=7 - start.weekday())
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name="Host", username=f"h{new_id().hex[-20:]}")
        host = await people.welcome(work, wanted)
    day = await offer_day(runtime, host, **kind)
    seats = [await book_day(runtime, day, start, email=f"{new_id()}@x.example") for _ in range(day.seats)]
    first, second = await wait_for(runtime, day, "a@x.example", "b@x.example", day=start.date())
    newcomer = await ask_to_wait(runtime, day, "c@x.example", day=start.date())
    tuesday = start + timedelta(days=1)
    later = [await book_day(runtime, day, tuesday, email=f"{new_id()}@x.example") for _ in range(day.seats)]
    await wait_for(runtime, day, "d@x.example", day=tuesday.date())
    await cancel_day(runtime, seats[0])
    return Round(
        runtime=runtime,
        host=host,
        day=day,
        start=start,
        booked=later[0],
        first=first,
        second=second,
        newcomer=newcomer,
    )


async def meet(at: Round, one: Writer, other: Writer) -> tuple[int, int]:
    """Let two writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            await writer(at)
        except Refusal as refusal:
            return status_of(refusal)
        return 200

    return await asyncio.gather(come(one), come(other))


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_no_pair_of_writers_offers_a_time_twice_or_loses_it(
    runtime: Runtime, seats: int, postgres_log: Path
) -> None:
    for one, other in combinations_with_replacement(WRITERS, 2):
        rounds = [await prepare(runtime, seats=seats) for _ in range(ROUNDS)]
        statuses = [await meet(at, one, other) for at in rounds]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert set(chain.from_iterable(statuses)) <= {200, 400, 404, 409}, names
        assert await find_disorder(runtime.pool) == {}, names
        assert await find_wait_list_faults(runtime) == {}, names
        for at in rounds:
            # So that the jobs of later pairs have little to do.
            await disable(at)
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


@pytest.mark.parametrize("other", [expire, decline, leave, book, cancel], ids=lambda each: each.__name__)
async def test_whoever_accepts_in_time_has_the_time(runtime: Runtime, other: Writer) -> None:
    for _ in range(ROUNDS * 4):
        at = await prepare(runtime)
        accepted, _ = await meet(at, accept, other)
        claim = "select kind from claims where host_no = $1 and active and starts_at = $2"
        kind = await runtime.pool.fetchval(claim, at.host.no, at.start)
        state = await runtime.pool.fetchval("select state from wait_list_offers where entry_id = $1", at.first)
        # Who leaves after that is forgotten, and keeps the booking.
        assert state in ({"accepted", None} if accepted == 200 else {"declined", "expired", "offered", None})
        assert kind == ("booking" if accepted == 200 else "offer"), (accepted, kind)
    assert await find_disorder(runtime.pool) == {}
    assert await find_wait_list_faults(runtime) == {}
