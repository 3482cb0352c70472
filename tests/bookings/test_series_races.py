"""Every pair of those who change a host's time, one of them with a series: nothing is booked twice or in part."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement, count, product
from pathlib import Path

import httpx2
import pytest
from msgspec import Struct
from msgspec.structs import replace

from openslot.accounts.models import User, UserWanted
from openslot.availability import claims
from openslot.availability.claims import expire_holds
from openslot.availability.models import ById, Hold
from openslot.bookings import operations as bookings
from openslot.bookings import series
from openslot.bookings.links import manage_token
from openslot.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.bookings.series_models import Recurrence
from openslot.core.actor import OPERATOR, PUBLIC, SYSTEM
from openslot.core.config import Settings
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.core.times import iso
from openslot.core.work import Runtime
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType, RollingWindow
from openslot.http.errors import status_of
from openslot.people import operations as people
from openslot.schedules import operations as schedules
from tests.support.clocks import real_clock as clock
from tests.support.live import connect
from tests.support.races import WebPair, find_disorder

__all__ = ["clock"]

ROUNDS = 20 if os.environ.get("OPENSLOT_LONG") else 2
WEEKS, WEEK = 5, timedelta(weeks=1)
INVITEE = Invitee(name="Li Wei", email="li@wei.example", zone="UTC")
# A series that was to be booked whole and has another number of weeks.
PARTS = """
select count(*) from (
    select count(*) from bookings where series_id is not null and notes = 'all' group by series_id
    having count(*) <> $1) parts"""
numbers = count()


class Round(Struct, kw_only=True):
    """One host, what can be booked there for several weeks, and what is there already."""

    runtime: Runtime
    clients: list[httpx2.AsyncClient]
    host: User
    offer: EventType
    start: datetime
    booked: tuple[Booking, ...] = ()
    """A series an hour after the time that is wanted."""
    held: Hold | None = None

    async def send(self, path: str, json: object = None) -> int:
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        answer = await self.clients[number % len(self.clients)].post(path, json=json, headers=headers)
        return answer.status_code

    def wish(self, start: datetime, **more: object) -> dict[str, object]:
        return {
            "eventTypeId": str(self.offer.id),
            "startTime": iso(start),
            "inviteeName": "Jonas Okafor",
            "inviteeEmail": f"{new_id()}@race.example",
            "inviteeTimezone": "UTC",
            **more,
        }

    def any_week(self) -> datetime:
        return self.start + WEEK * random.randrange(WEEKS)


async def book_all(at: Round) -> int:
    """Book every week or none, from the first week on or from a later one."""
    wish = at.wish(at.start + WEEK * random.choice([0, 0, 2]), notes="all", recurrence={"weeks": WEEKS})
    return await at.send("/api/bookings", wish)


async def book_free(at: Round) -> int:
    wish = at.wish(at.start + WEEK, notes="free", recurrence={"weeks": WEEKS, "onConflict": "skip"})
    return await at.send("/api/bookings", wish)


async def book_with_hold(at: Round) -> int:
    assert at.held is not None
    more = {"notes": "all", "recurrence": {"weeks": WEEKS}, "holdId": str(at.held.id)}
    return await at.send("/api/bookings", at.wish(at.start, **more))


async def book_one(at: Round) -> int:
    return await at.send("/api/bookings", at.wish(at.any_week()))


async def hold_one(at: Round) -> int:
    return await at.send("/api/public/holds", {"eventTypeId": str(at.offer.id), "startTime": iso(at.any_week())})


async def expire(at: Round) -> int:
    await at.runtime.pool.execute(
        "update claims set expires_at = now() where kind = 'hold' and event_type_id = $1", at.offer.id
    )
    await expire_holds(at.runtime.work(SYSTEM))
    return 200


async def cancel_all(at: Round) -> int:
    token = manage_token(at.runtime, random.choice(at.booked).id)
    return await at.send(f"/api/public/manage/{token}/cancel", {"series": True})


async def cancel_one(at: Round) -> int:
    return await at.send(f"/api/public/manage/{manage_token(at.runtime, random.choice(at.booked).id)}/cancel")


async def move_one(at: Round) -> int:
    """Move a date of the series to the time that is wanted."""
    place = random.randrange(WEEKS)
    token = manage_token(at.runtime, at.booked[place].id)
    start = at.start + WEEK * place
    return await at.send(f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(start)})


async def edit(at: Round) -> int:
    """Make meetings longer, into a group, or not repeatable any more."""
    changes = random.choice(["duration_minutes = 60", "recurring_weeks = null, seats = 3", "buffer_after = 15"])
    await at.runtime.pool.execute(f"update event_types set {changes} where id = $1", at.offer.id)
    return 200


async def disable(at: Round) -> int:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.host)
    return 200


Writer = Callable[[Round], Awaitable[int]]
OF_SERIES: tuple[Writer, ...] = (book_all, book_free, book_with_hold, cancel_all, cancel_one, move_one)
OTHERS: tuple[Writer, ...] = (book_one, hold_one, expire, edit, disable)


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.fixture
async def clients(web_pair: WebPair) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """One client for each of two web processes."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(url, timeout=60)) for url in web_pair.urls]


async def prepare(runtime: Runtime, clients: list[httpx2.AsyncClient]) -> Round:
    """Open an account of its own for each round, with a hold and a series."""
    today = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0)
    start = today + timedelta(days=7 - today.weekday())
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"{new_id()}@host.example", name="Host", username=f"h{new_id().hex[-20:]}")
        host = await people.welcome(work, wanted)
        schedule, *_ = await schedules.list_schedules(work, host)
        draft = event_types.draft(work, schedule, name="Race", slug="race", duration_minutes=30)
        offer = await event_types.add_event_type(
            work, schedule, replace(draft, recurring_weeks=12, booking_window=RollingWindow(120))
        )
    at = Round(runtime=runtime, clients=clients, host=host, offer=offer, start=start)
    async with runtime.transaction(PUBLIC) as work:
        wish = BookingWanted(which=ById(offer.id), starts_at=start + timedelta(hours=1), invitee=INVITEE)
        at.booked = (await series.create_series(work, wish, Recurrence(weeks=WEEKS))).bookings
    async with runtime.transaction(PUBLIC) as work:
        at.held = await claims.hold(work, ById(offer.id), start, holder=str(new_id()))
    return at


async def meet(at: Round, *writers: Writer) -> list[int]:
    """Let writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            return await writer(at)
        except Refusal as refusal:
            return status_of(refusal)

    return await asyncio.gather(*map(come, writers))


async def test_no_pair_with_a_series_books_twice_or_in_part(
    runtime: Runtime, clients: list[httpx2.AsyncClient], postgres_log: Path
) -> None:
    for one, other in [*combinations_with_replacement(OF_SERIES, 2), *product(OF_SERIES, OTHERS)]:
        rounds = [await prepare(runtime, clients) for _ in range(ROUNDS)]
        statuses = [await meet(at, one, other) for at in rounds]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert {status for each in statuses for status in each} <= {200, 400, 404, 409}, names
        assert await find_disorder(runtime.pool) == {}, names
        assert await runtime.pool.fetchval(PARTS, WEEKS) == 0, names
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_of_many_series_that_overlap_one_has_every_week(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    for _ in range(ROUNDS * 2):
        at = await prepare(runtime, clients)
        await expire(at)
        wishes = [at.wish(at.start, notes="all", recurrence={"weeks": WEEKS}) for _ in range(8)]
        statuses = await asyncio.gather(*(at.send("/api/bookings", wish) for wish in wishes))

        assert sorted(statuses) == [200, *[409] * 7]
        assert await runtime.pool.fetchval(PARTS, WEEKS) == 0
    assert await find_disorder(runtime.pool) == {}


async def test_a_series_that_is_cancelled_twice_at_once_is_told_once(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    for _ in range(ROUNDS):
        at = await prepare(runtime, clients)
        assert await meet(at, cancel_all, cancel_all, cancel_all) == [200] * 3
        ids = [each.id for each in at.booked]
        told = await runtime.pool.fetchval(
            "select count(*) from events where type = 'booking.cancelled' and subject_id = any($1)", ids
        )
        assert told == WEEKS


async def test_a_booking_that_is_cancelled_alone_is_not_cancelled_again_with_its_series(
    runtime: Runtime, clients: list[httpx2.AsyncClient]
) -> None:
    at = await prepare(runtime, clients)
    async with runtime.transaction(PUBLIC) as work:
        alone = await bookings.cancel_booking(work, BookingRef(at.booked[1].id, None), reason="Alone")
    await cancel_all(at)
    async with runtime.transaction(PUBLIC) as work:
        now = (await bookings.get_booking(work, BookingRef(alone.id, None))).booking
    assert (now.sequence, now.cancel_reason) == (1, "Alone")
