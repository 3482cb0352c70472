"""What holds leave behind is removed after a day; what a booking names stays."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import House
from openslot.event_types.models import EventType
from openslot.jobs.periodic import run_job
from openslot.wiring import WIRING
from tests.bookings.conftest import ELEVEN, TEN, MovingClock, client, clock, house, meeting, offer
from tests.bookings.test_public import body, hold

__all__ = ["client", "clock", "house", "meeting"]

EXPIRE, TIDY = (next(job for job in WIRING.periodic if job.name == name) for name in ("claims.expire", "claims.tidy"))


@pytest.fixture
async def group(house: House, user: User) -> EventType:
    """An event type with three seats."""
    return await offer(house, user, "group", seats=3)


async def claims(house: House) -> set[tuple[str, bool]]:
    return {(row["kind"], row["active"]) for row in await house.pool.fetch("select kind, active from claims")}


async def book(client: httpx2.AsyncClient, event_type: EventType, start: str = TEN, **more: object) -> UUID:
    answer = await client.post("/api/bookings", json=body(event_type, start, **more))
    assert answer.status_code == 200, answer.text
    return UUID(answer.json()["bookingId"])


async def tidy(house: House, clock: MovingClock, **after: float) -> str:
    clock.pass_time(**after)
    await run_job(house, EXPIRE)
    return await run_job(house, TIDY)


async def test_a_hold_that_ran_out_is_removed_after_a_day(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, meeting: EventType
) -> None:
    await hold(client, meeting)
    dropped = (await hold(client, meeting, ELEVEN)).json()["holdId"]
    await client.delete(f"/api/public/holds/{dropped}")

    assert await tidy(house, clock, hours=1) == "0 holds, 0 sessions removed"
    assert await claims(house) == {("hold", False)}
    assert await tidy(house, clock, hours=24) == "2 holds, 0 sessions removed"
    assert await claims(house) == set()


async def test_what_was_booked_stays_even_when_it_is_cancelled(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, meeting: EventType, bearer: dict[str, str]
) -> None:
    held = (await hold(client, meeting)).json()["holdId"]
    kept = await book(client, meeting, holdId=held)
    cancelled = await book(client, meeting, ELEVEN, inviteeEmail="two@x.example")
    await client.post(f"/api/v1/bookings/{cancelled}/cancel", headers=bearer)

    assert await tidy(house, clock, days=30) == "0 holds, 0 sessions removed"
    assert await claims(house) == {("booking", True), ("booking", False)}
    assert await house.pool.fetchval("select count(*) from bookings where id = any($1)", [kept, cancelled]) == 2


async def test_a_session_that_was_only_held_goes_with_its_seats(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, group: EventType
) -> None:
    await hold(client, group)
    assert await tidy(house, clock, hours=25) == "1 holds, 0 sessions removed"
    assert await tidy(house, clock, days=1) == "0 holds, 1 sessions removed"
    assert await claims(house) == set()


async def test_a_session_that_was_booked_keeps_the_seats_of_its_bookings(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, group: EventType, bearer: dict[str, str]
) -> None:
    booked = await book(client, group)
    await hold(client, group)
    await client.post(f"/api/v1/bookings/{booked}/cancel", headers=bearer)

    assert await tidy(house, clock, days=3) == "1 holds, 0 sessions removed"
    assert await claims(house) == {("session", False)}
    assert await house.pool.fetchval("select count(*) from claim_seats") == 1


async def test_a_session_that_everybody_has_left_is_removed_after_its_end(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, group: EventType, bearer: dict[str, str]
) -> None:
    first = await book(client, group)
    other = await book(client, group, ELEVEN, inviteeEmail="two@x.example")
    # Both are in one session then, and the one that was left has no seat any more.
    moved = await client.patch(f"/api/v1/bookings/{first}/reschedule", json={"newStartTime": ELEVEN}, headers=bearer)
    assert moved.status_code == 200
    assert await claims(house) == {("session", False), ("session", True)}

    assert await tidy(house, clock, hours=20) == "0 holds, 0 sessions removed"
    assert await tidy(house, clock, hours=20) == "0 holds, 1 sessions removed"
    assert await claims(house) == {("session", True)}
    rows: list[Any] = await house.pool.fetch(
        "select distinct claim_id from bookings where id = any($1)", [first, other]
    )
    assert len(rows) == 1


async def test_nothing_that_still_takes_time_is_removed(
    client: httpx2.AsyncClient, house: House, clock: MovingClock, meeting: EventType
) -> None:
    await hold(client, meeting)
    clock.now += timedelta(days=3)

    assert await run_job(house, TIDY) == "0 holds, 0 sessions removed", "nobody has switched it off yet"
    assert await claims(house) == {("hold", True)}
