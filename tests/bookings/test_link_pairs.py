"""Every pair of those who change a link or a booking made through it, at the same moment: its uses are those it has."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User, UserWanted
from openslot.availability.models import ById
from openslot.bookings import operations as bookings
from openslot.bookings import requests
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.core.actor import OPERATOR, PUBLIC, SYSTEM, EffectAttempt
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.event_types import links
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType, HostLink
from openslot.people import operations as people
from openslot.schedules import operations as schedules
from openslot.schedules.models import Schedule
from tests.support.clocks import real_clock as clock
from tests.support.effects import run_attempt
from tests.support.races import find_disorder

__all__ = ["clock"]

ROUNDS = 20 if os.environ.get("OPENSLOT_LONG") else 1


class Offered(Struct, kw_only=True):
    """An event type with a link that has one use left, and what was booked through it."""

    event_type: EventType
    link: HostLink
    booking: Booking


class Round(Struct, kw_only=True):
    """A host with an event type that is booked at once, and one that they confirm."""

    runtime: Runtime
    host: User
    start: datetime
    plain: Offered
    asked: Offered


async def take(at: Round, offered: Offered) -> None:
    """Book any time of the day through a link."""
    await book(at.runtime, offered.event_type, offered.link, at.start + timedelta(minutes=30 * random.randrange(3)))


async def book_by_link(at: Round) -> None:
    await take(at, at.plain)


async def ask_by_link(at: Round) -> None:
    await take(at, at.asked)


async def book_without(at: Round) -> None:
    await book(at.runtime, at.plain.event_type, None, at.start)


async def revoke(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        for offered in (at.plain, at.asked):
            await links.revoke_link(work, at.host, offered.link.link.id)


async def reschedule(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await bookings.reschedule_booking(work, BookingRef(at.plain.booking.id, None), at.start)


async def cancel(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await bookings.cancel_booking(work, BookingRef(at.plain.booking.id, None))


async def confirm(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.confirm(work, BookingRef(at.asked.booking.id, at.host.id))


async def decline(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await requests.decline(work, BookingRef(at.asked.booking.id, at.host.id))


async def withdraw(at: Round) -> None:
    async with at.runtime.transaction(PUBLIC) as work:
        await requests.withdraw(work, at.asked.booking.id)


async def lapse(at: Round) -> None:
    """Let the request lapse in this very moment, and the worker come by."""
    booking_id = at.asked.booking.id
    await at.runtime.pool.execute("update booking_requests set lapses_at = now() where booking_id = $1", booking_id)
    await requests.plan_lapses(at.runtime.work(SYSTEM))
    due = await at.runtime.pool.fetch(
        "select id, round from effects where reaction = $1 and key = $2 and state = 'queued'",
        requests.LAPSE,
        str(booking_id),
    )
    for row in due:
        await run_attempt(at.runtime, EffectAttempt(row["id"], row["round"]))


async def delete(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, at.asked.event_type)


async def disable(at: Round) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.host)


Writer = Callable[[Round], Awaitable[None]]
WRITERS: tuple[Writer, ...] = (
    book_by_link,
    ask_by_link,
    book_without,
    revoke,
    reschedule,
    cancel,
    confirm,
    decline,
    withdraw,
    lapse,
    delete,
    disable,
)


async def book(runtime: Runtime, event_type: EventType, link: HostLink | None, start: datetime) -> Booking:
    invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
    which = ById(event_type.id, link.token if link else None)
    async with runtime.transaction(PUBLIC) as work:
        return await bookings.create_booking(work, BookingWanted(which=which, starts_at=start, invitee=invitee))


async def prepare(runtime: Runtime) -> Round:
    tomorrow = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=1)
    start = tomorrow + timedelta(days=max(0, 7 - tomorrow.weekday()) if tomorrow.weekday() > 4 else 0)
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name="Host", username=f"h{new_id().hex[-20:]}")
        host = await people.welcome(work, wanted)
        schedule, *_ = await schedules.list_schedules(work, host)
    plain = await offer(runtime, host, schedule, start + timedelta(hours=3), asks=False)
    asked = await offer(runtime, host, schedule, start + timedelta(hours=4), asks=True)
    return Round(runtime=runtime, host=host, start=start, plain=plain, asked=asked)


async def offer(runtime: Runtime, host: User, schedule: Schedule, start: datetime, *, asks: bool) -> Offered:
    name = "asked" if asks else "plain"
    async with runtime.transaction(OPERATOR) as work:
        draft = event_types.draft(work, schedule, name=name, slug=name, duration_minutes=30)
        made = await event_types.add_event_type(work, schedule, replace(draft, requires_confirmation=asks))
        _, link = await links.create_link(work, host, made.id, uses=2)
    return Offered(event_type=made, link=link, booking=await book(runtime, made, link, start))


async def come(at: Round, writer: Writer) -> str | None:
    """Come at any moment of the next few milliseconds; a refusal is an answer too."""
    await asyncio.sleep(random.random() * 0.006)
    try:
        await writer(at)
    except Refusal as refusal:
        return refusal.code
    return None


async def test_no_pair_of_writers_costs_a_link_a_use_or_gives_it_one(runtime: Runtime, postgres_log: Path) -> None:
    for one, other in combinations_with_replacement(WRITERS, 2):
        for _ in range(ROUNDS):
            at = await prepare(runtime)
            answers = await asyncio.gather(come(at, one), come(at, other))
            assert await find_disorder(runtime.pool) == {}, f"{one.__name__}, {other.__name__}: {answers}"
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_the_last_use_is_one_booking(runtime: Runtime) -> None:
    for _ in range(ROUNDS * 8):
        at = await prepare(runtime)
        starts = [at.start + timedelta(hours=number) for number in range(3)]
        made = await asyncio.gather(
            *(book(runtime, at.plain.event_type, at.plain.link, each) for each in starts), return_exceptions=True
        )
        codes = [each.code for each in made if isinstance(each, Refusal)]
        assert (codes, sum(isinstance(each, Booking) for each in made)) == (["link_used_up"] * 2, 1)
    assert await find_disorder(runtime.pool) == {}
