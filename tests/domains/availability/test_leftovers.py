"""What holds leave behind is removed after a day; what a booking names stays."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from openslot.wiring import WIRING
from tests.domains.bookings.conftest import ELEVEN, TEN, meeting, offer, settings
from tests.support.bookings import hold_publicly, public_body
from tests.support.clocks import MovingClock, clock

__all__ = ["clock", "meeting", "settings"]

EXPIRE, TIDY = (next(job for job in WIRING.periodic if job.name == name) for name in ("claims.expire", "claims.tidy"))


@pytest.fixture
async def group(runtime: Runtime, user: User) -> EventType:
    """An event type with three seats."""
    return await offer(runtime, user, "group", seats=3)


async def claims(runtime: Runtime) -> set[tuple[str, bool]]:
    return {(row["kind"], row["active"]) for row in await runtime.pool.fetch("select kind, active from claims")}


async def book(client: httpx2.AsyncClient, event_type: EventType, start: str = TEN, **more: object) -> UUID:
    answer = await client.post("/api/bookings", json=public_body(event_type, start, **more))
    assert answer.status_code == 200, answer.text
    return UUID(answer.json()["bookingId"])


async def tidy(runtime: Runtime, clock: MovingClock, **after: float) -> str:
    clock.pass_time(**after)
    await run_job(runtime, EXPIRE)
    return await run_job(runtime, TIDY)


async def test_a_hold_that_ran_out_is_removed_after_a_day(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, meeting: EventType
) -> None:
    await hold_publicly(client, meeting)
    dropped = (await hold_publicly(client, meeting, ELEVEN)).json()["holdId"]
    await client.delete(f"/api/public/holds/{dropped}")

    assert await tidy(runtime, clock, hours=1) == "0 holds, 0 sessions removed"
    assert await claims(runtime) == {("hold", False)}
    assert await tidy(runtime, clock, hours=24) == "2 holds, 0 sessions removed"
    assert await claims(runtime) == set()


async def test_what_was_booked_stays_even_when_it_is_cancelled(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, meeting: EventType, bearer: dict[str, str]
) -> None:
    held = (await hold_publicly(client, meeting)).json()["holdId"]
    kept = await book(client, meeting, holdId=held)
    cancelled = await book(client, meeting, ELEVEN, inviteeEmail="two@x.example")
    await client.post(f"/api/v1/bookings/{cancelled}/cancel", headers=bearer)

    assert await tidy(runtime, clock, days=30) == "0 holds, 0 sessions removed"
    assert await claims(runtime) == {("booking", True), ("booking", False)}
    assert await runtime.pool.fetchval("select count(*) from bookings where id = any($1)", [kept, cancelled]) == 2


async def test_a_session_that_was_only_held_goes_with_its_seats(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, group: EventType
) -> None:
    await hold_publicly(client, group)
    assert await tidy(runtime, clock, hours=25) == "1 holds, 0 sessions removed"
    assert await tidy(runtime, clock, days=1) == "0 holds, 1 sessions removed"
    assert await claims(runtime) == set()


async def test_a_session_that_was_booked_keeps_the_seats_of_its_bookings(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, group: EventType, bearer: dict[str, str]
) -> None:
    booked = await book(client, group)
    await hold_publicly(client, group)
    await client.post(f"/api/v1/bookings/{booked}/cancel", headers=bearer)

    assert await tidy(runtime, clock, hours=40) == "1 holds, 0 sessions removed"
    assert await claims(runtime) == {("session", False)}
    assert await runtime.pool.fetchval("select count(*) from claim_seats") == 1


async def test_a_session_that_everybody_has_left_is_removed_after_its_end(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, group: EventType, bearer: dict[str, str]
) -> None:
    first = await book(client, group)
    other = await book(client, group, ELEVEN, inviteeEmail="two@x.example")
    # Both are in one session then, and the one that was left has no seat any more.
    moved = await client.patch(f"/api/v1/bookings/{first}/reschedule", json={"newStartTime": ELEVEN}, headers=bearer)
    assert moved.status_code == 200
    assert await claims(runtime) == {("session", False), ("session", True)}

    assert await tidy(runtime, clock, hours=20) == "0 holds, 0 sessions removed"
    assert await tidy(runtime, clock, hours=20) == "0 holds, 1 sessions removed"
    assert await claims(runtime) == {("session", True)}
    rows: list[Any] = await runtime.pool.fetch(
        "select distinct claim_id from bookings where id = any($1)", [first, other]
    )
    assert len(rows) == 1


async def test_what_a_booking_names_stays_whatever_it_looks_like(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, meeting: EventType, group: EventType
) -> None:
    await book(client, meeting)
    await book(client, group, ELEVEN, inviteeEmail="two@x.example")
    await runtime.pool.execute("update bookings set status = 'CANCELLED', cancelled_at = now()")
    await runtime.pool.execute("update claims set active = false, expires_at = $1", clock.now)
    await runtime.pool.execute("update claims set kind = 'hold' where kind = 'booking'")
    await runtime.pool.execute("update claim_seats set active = false, expires_at = $1", clock.now)

    assert await tidy(runtime, clock, hours=40) == "0 holds, 0 sessions removed"
    assert await claims(runtime) == {("hold", False), ("session", False)}
    assert await runtime.pool.fetchval("select count(*) from claim_seats") == 1


async def test_nothing_that_still_takes_time_is_removed(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, meeting: EventType
) -> None:
    await hold_publicly(client, meeting)
    clock.now += timedelta(days=3)

    assert await run_job(runtime, TIDY) == "0 holds, 0 sessions removed", "nobody has switched it off yet"
    assert await claims(runtime) == {("hold", True)}
