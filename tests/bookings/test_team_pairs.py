"""Every pair of those who change the time of a team's hosts, at the same moment: nothing overlaps, nothing is lost."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from itertools import chain, count
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from msgspec import Struct

from openslot.availability.claims import expire_holds
from openslot.availability.models import Hold
from openslot.bookings import handovers
from openslot.bookings.links import manage_token
from openslot.bookings.models import Booking, BookingRef
from openslot.bookings.series_models import BookedSeries
from openslot.core.actor import OPERATOR, SYSTEM
from openslot.core.config import Settings
from openslot.core.errors import Refusal
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.event_types.models import EventType, RollingWindow
from openslot.http.errors import status_of
from openslot.people import operations as people
from tests.support.clocks import real_clock as clock
from tests.support.live import connect
from tests.support.races import WebPair, find_disorder, iso, split_pairs, workday
from tests.support.teams import HostedTeam, book_team, book_weeks, hold_team, offer, open_team

__all__ = ["clock"]

LONG = bool(os.environ.get("OPENSLOT_LONG"))
ROUNDS, PAIRS = (10, 50) if LONG else (1, 150)
ANSWERS = {200, 303, 400, 404, 409, 410, 429}
WINDOW = RollingWindow(120)
DAY = timedelta(days=1)
SEATS = 4
Clients = list[httpx2.AsyncClient]
numbers = count()


@pytest.fixture
def settings(web_pair: WebPair) -> Settings:
    """Settings of the two web processes."""
    return web_pair.settings


@pytest.fixture
async def clients(web_pair: WebPair) -> AsyncIterator[Clients]:
    """One client for each of two web processes."""
    async with AsyncExitStack() as stack:
        limits = httpx2.Limits(max_connections=100)
        yield [await stack.enter_async_context(connect(url, timeout=60, limits=limits)) for url in web_pair.urls]


class Meeting(Struct, frozen=True, kw_only=True):
    """A team with three event types of the same hosts: one of three, all of two, and one host's own."""

    runtime: Runtime
    clients: Clients
    team: HostedTeam
    both: EventType
    own_id: UUID
    start: datetime
    booked: Booking
    """One of three, on the day after the start that everybody wants."""
    collective: Booking
    """Both, two days after it."""
    held: Hold
    """One of three, at the start."""
    weekly: BookedSeries
    """One of three in two weeks, an hour after the start."""
    seated: EventType
    """Two of three for a group of four."""
    session: tuple[Booking, ...]
    """Two seats of a group, three days after the start."""
    seat: Hold
    """A third one."""

    async def send(self, method: str, path: str, json: object = None) -> int:
        """Send a request to one of the web processes, from an address of its own."""
        number = next(numbers)
        headers = {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}
        answer = await self.clients[number % 2].request(method, path, json=json, headers=headers)
        return answer.status_code

    async def book(self, event_type: EventType, start: datetime, **more: object) -> int:
        return await self.send("POST", "/api/bookings", wish(event_type, start, **more))


def wish(event_type: EventType, start: datetime, **more: object) -> dict[str, object]:
    return {
        "eventTypeId": str(event_type.id),
        "startTime": iso(start),
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": f"{new_id()}@race.example",
        "inviteeTimezone": "UTC",
        **more,
    }


async def prepare(runtime: Runtime, clients: Clients) -> Meeting:
    start = workday(0)
    team = await open_team(runtime, 3, booking_window=WINDOW, recurring_weeks=3)
    both = await offer(runtime, team.id, team.owner, team.hosts, [(1, [1]), (1, [0])], booking_window=WINDOW)
    own_id = await runtime.pool.fetchval("select id from event_types where owner_id = $1", team.hosts[0].id)
    booked = await book_team(runtime, team.event_type, start + DAY)
    collective = await book_team(runtime, both, start + 2 * DAY)
    held = await hold_team(runtime, team.event_type, start)
    weekly = await book_weeks(runtime, team.event_type, start + timedelta(hours=1), weeks=2)
    seated = await offer(runtime, team.id, team.owner, team.hosts, [(2, [0, 1, 2])], booking_window=WINDOW, seats=SEATS)
    session = tuple([await book_team(runtime, seated, start + 3 * DAY) for _ in range(2)])
    seat = await hold_team(runtime, seated, start + 3 * DAY)
    return Meeting(
        runtime=runtime,
        clients=clients,
        team=team,
        both=both,
        own_id=own_id,
        start=start,
        booked=booked,
        collective=collective,
        held=held,
        weekly=weekly,
        seated=seated,
        session=session,
        seat=seat,
    )


Writer = Callable[[Meeting], Awaitable[int | None]]


async def book_one(at: Meeting) -> int:
    return await at.book(at.team.event_type, random.choice([at.start, at.booked.starts_at]))


async def book_both(at: Meeting) -> int:
    return await at.book(at.both, random.choice([at.start, at.booked.starts_at]))


async def book_own(at: Meeting) -> int:
    body = wish(at.team.event_type, random.choice([at.start, at.booked.starts_at]))
    return await at.send("POST", "/api/bookings", {**body, "eventTypeId": str(at.own_id)})


async def book_held(at: Meeting) -> int:
    return await at.book(at.team.event_type, at.start, holdId=str(at.held.id))


async def hold_one(at: Meeting) -> int:
    body = {"eventTypeId": str(at.team.event_type.id), "startTime": iso(at.start)}
    return await at.send("POST", "/api/public/holds", body)


async def hold_both(at: Meeting) -> int:
    return await at.send("POST", "/api/public/holds", {"eventTypeId": str(at.both.id), "startTime": iso(at.start)})


async def drop(at: Meeting) -> int:
    return await at.send("DELETE", f"/api/public/holds/{at.held.id}")


async def expire(at: Meeting) -> None:
    """Let the hold expire in this very moment, and the minute's job come by."""
    await at.runtime.pool.execute(
        """update claims set expires_at = least(expires_at, now()) where kind = 'hold'
        and id in (select claim_id from held_hosts where hold_id = $1)""",
        at.held.id,
    )
    await expire_holds(at.runtime.work(SYSTEM))


async def cancel(at: Meeting) -> int:
    booking = random.choice([at.booked, at.collective])
    return await at.send("POST", f"/api/public/manage/{manage_token(at.runtime, booking.id)}/cancel")


async def reschedule(at: Meeting) -> int:
    """Move a booking to the start that everybody wants, where its hosts may be taken."""
    token = manage_token(at.runtime, random.choice([at.booked, at.collective]).id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def reassign(at: Meeting) -> None:
    """Give a booking to the next host, or to one who is named."""
    host_id = await at.runtime.pool.fetchval("select user_id from booking_hosts where booking_id = $1", at.booked.id)
    others = [each.id for each in at.team.hosts if each.id != host_id]
    async with at.runtime.transaction(OPERATOR) as work:
        ref = BookingRef(at.booked.id, None)
        to = random.choice([None, *others])
        await handovers.reassign_booking(work, ref, from_user=host_id, to_user=to)


async def book_series(at: Meeting) -> int:
    """Book three weeks with the same host, or those in which one is free, from the hold or without it."""
    more = random.choice([{}, {"holdId": str(at.held.id)}])
    recurrence = {"weeks": 3, "onConflict": random.choice(["refuse", "skip"])}
    return await at.book(at.team.event_type, at.start, recurrence=recurrence, **more)


async def cancel_series(at: Meeting) -> int:
    token = manage_token(at.runtime, random.choice(at.weekly.bookings).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel", {"series": True})


async def move_one(at: Meeting) -> int:
    """Move a date of the series to the start that everybody wants."""
    token = manage_token(at.runtime, at.weekly.bookings[0].id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def sit_down(at: Meeting) -> int:
    """Join the session, with the held seat or without, or open one at the start that everybody wants."""
    start = random.choice([at.start, *(each.starts_at for each in at.session)])
    more = {"holdId": str(at.seat.id)} if start != at.start and random.random() < 0.5 else {}
    return await at.book(at.seated, start, **more)


async def hold_seat(at: Meeting) -> int:
    start = random.choice([at.start, at.session[0].starts_at])
    body = {"eventTypeId": str(at.seated.id), "startTime": iso(start)}
    return await at.send("POST", "/api/public/holds", body)


async def give_seat_up(at: Meeting) -> int | None:
    """Drop the held seat, or let it expire in this very moment."""
    if random.random() < 0.5:
        return await at.send("DELETE", f"/api/public/holds/{at.seat.id}")
    await at.runtime.pool.execute(
        "update claim_seats set expires_at = least(expires_at, now()) where id = $1 and holder is not null", at.seat.id
    )
    await expire_holds(at.runtime.work(SYSTEM))
    return None


async def leave_session(at: Meeting) -> int:
    token = manage_token(at.runtime, random.choice(at.session).id)
    return await at.send("POST", f"/api/public/manage/{token}/cancel")


async def change_session(at: Meeting) -> int:
    """Move a seat to the start that everybody wants, alone or after the others."""
    token = manage_token(at.runtime, random.choice(at.session).id)
    return await at.send("POST", f"/api/public/manage/{token}/reschedule", {"newStartTime": iso(at.start)})


async def hand_session_over(at: Meeting) -> None:
    booking = random.choice(at.session)
    host_id = await at.runtime.pool.fetchval("select user_id from booking_hosts where booking_id = $1", booking.id)
    async with at.runtime.transaction(OPERATOR) as work:
        await handovers.reassign_booking(work, BookingRef(booking.id, None), from_user=host_id)


async def leave(at: Meeting) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, at.team.organization, at.team.hosts[random.choice([0, 2])])


async def disable(at: Meeting) -> None:
    async with at.runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, at.team.hosts[random.choice([0, 1])])


WRITERS: tuple[Writer, ...] = (
    *(book_one, book_both, book_own, book_held, hold_one, hold_both, drop, expire),
    *(cancel, reschedule, reassign, leave, disable),
    *(book_series, cancel_series, move_one),
    *(sit_down, hold_seat, give_seat_up, leave_session, change_session, hand_session_over),
)


async def meet(at: Meeting, *writers: Writer) -> list[int]:
    """Let writers come at the same moment; a refusal is an answer too."""

    async def come(writer: Writer) -> int:
        await asyncio.sleep(random.random() * 0.006)
        try:
            return await writer(at) or 200
        except Refusal as refusal:
            return status_of(refusal)

    return await asyncio.gather(*map(come, writers))


TESTED = split_pairs(WRITERS, PAIRS)


@pytest.mark.spread
@pytest.mark.parametrize("pairs", TESTED.values(), ids=TESTED)
async def test_no_pair_of_writers_costs_a_team_its_time(
    runtime: Runtime, clients: Clients, pairs: list[tuple[Writer, Writer]], postgres_log: Path
) -> None:
    for one, other in pairs:
        made = await asyncio.gather(*(prepare(runtime, clients) for _ in range(ROUNDS)))
        statuses = [await meet(at, one, other, one, other) for at in made]

        names = f"{one.__name__} and {other.__name__} answered {statuses}"
        assert set(chain.from_iterable(statuses)) <= ANSWERS, names
        assert await find_disorder(runtime.pool) == {}, names
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_of_many_who_book_one_start_as_many_as_there_are_hosts_get_one_each(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(10 if LONG else 1):
        team = await open_team(runtime, 7, booking_window=WINDOW)
        start = workday(0)
        sent = [clients[n % 2].post("/api/bookings", json=wish(team.event_type, start)) for n in range(100)]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 7, 409: 93}
        hosts = await runtime.pool.fetch(
            "select h.user_id from booking_hosts h join bookings b on b.id = h.booking_id where b.event_type_id = $1",
            team.event_type.id,
        )
        assert {row["user_id"] for row in hosts} == {each.id for each in team.hosts}
        assert len(hosts) == 7
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_of_many_who_book_one_session_as_many_as_there_are_seats_get_one_with_the_same_hosts(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(10 if LONG else 1):
        team = await open_team(runtime, 5, groups=[(2, range(5))], booking_window=WINDOW, seats=7)
        await book_team(runtime, team.event_type, workday(1))
        start = workday(0)
        sent = [clients[n % 2].post("/api/bookings", json=wish(team.event_type, start)) for n in range(100)]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 7, 409: 93}
        hosts = await runtime.pool.fetch(
            """select h.user_id from booking_hosts h join bookings b on b.id = h.booking_id
            where b.event_type_id = $1 and b.starts_at = $2""",
            team.event_type.id,
            start,
        )
        assert Counter(Counter(row["user_id"] for row in hosts).values()) == {7: 2}
        claims = await runtime.pool.fetchval(
            "select count(*) from claims where event_type_id = $1 and starts_at = $2 and active",
            team.event_type.id,
            start,
        )
        assert claims == 2
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")


async def test_two_event_types_of_the_same_hosts_lock_them_in_one_order(
    runtime: Runtime, clients: Clients, postgres_log: Path
) -> None:
    for _ in range(20 if LONG else 4):
        team = await open_team(runtime, 3, groups=[(1, [0]), (1, [1]), (1, [2])], booking_window=WINDOW)
        back = await offer(
            runtime, team.id, team.owner, team.hosts, [(1, [2]), (1, [1]), (1, [0])], booking_window=WINDOW
        )
        starts = [workday(0) + timedelta(minutes=30 * n) for n in range(6)]
        sent = [
            clients[n % 2].post("/api/bookings", json=wish(event_type, start))
            for start in starts
            for n, event_type in enumerate((team.event_type, back))
        ]
        statuses = Counter(answer.status_code for answer in await asyncio.gather(*sent))
        assert statuses == {200: 6, 409: 6}
    assert await find_disorder(runtime.pool) == {}
    assert "deadlock detected" not in postgres_log.read_text("utf-8", "replace")
