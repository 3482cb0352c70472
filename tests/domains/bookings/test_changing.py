"""Bookings that change: moved, cancelled, and what is too late for either."""

import json
from uuid import UUID

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import LEFT, BookingRef
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book, offer, read, slots
from tests.support.clocks import MovingClock

TAKEN = {"error": "This time is no longer available"}


async def test_cancelling_gives_the_time_back_and_twice_changes_nothing(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    made = await book()
    path = f"/api/v1/bookings/{made.json()['bookingId']}/cancel"
    for _ in range(2):
        answer = await client.post(path, json={"reason": "Ill today"}, headers=bearer)
        assert (answer.status_code, answer.json()) == (200, {"success": True})

    found = await read(client, bearer, made)
    assert (found["status"], found["cancelReason"], found["cancelledBy"]) == ("CANCELLED", "Ill today", "host")
    assert TEN in await slots(client, bearer)
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.cancelled'") == 1
    assert (await book()).status_code == 200


async def test_a_reason_of_ours_is_a_code_in_the_database_and_english_on_the_wire(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    made = await book()
    ref = BookingRef(UUID(made.json()["bookingId"]), None)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, ref, reason=LEFT.fill(host="Mara", organization="Acme"))

    said = "Mara is no longer with Acme"
    assert (await read(client, bearer, made))["cancelReason"] == said
    row = await runtime.pool.fetchrow("select public, fact from events where type = 'booking.cancelled'")
    assert row is not None
    assert json.loads(row["public"])["cancelReason"] == said
    code = 'bookings.host_left {"host":"Mara","organization":"Acme"}'
    assert json.loads(row["fact"])["booking"]["cancel_reason"] == code
    assert await runtime.pool.fetchval("select cancel_reason from bookings") == code


async def test_a_cancel_needs_no_body(client: httpx2.AsyncClient, bearer: dict[str, str], book: Book) -> None:
    made = await book()

    assert (await client.post(f"/api/v1/bookings/{made.json()['bookingId']}/cancel", headers=bearer)).status_code == 200


async def test_a_moved_booking_keeps_its_id_and_its_old_time_is_free(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    made = await book()
    path = f"/api/v1/bookings/{made.json()['bookingId']}/reschedule"
    answer = await client.patch(path, json={"newStartTime": ELEVEN, "reason": "Train"}, headers=bearer)
    assert (answer.status_code, answer.json()) == (200, {"success": True})

    found = await read(client, bearer, made)
    assert (found["startTime"], found["previousStartTime"], found["rescheduleCount"]) == (ELEVEN, TEN, 1)
    assert found["status"] == "CONFIRMED"
    assert TEN in await slots(client, bearer)
    assert ELEVEN not in await slots(client, bearer)
    row = await runtime.pool.fetchrow("select public from events where type = 'booking.rescheduled'")
    assert row is not None
    assert json.loads(row["public"])["previous"] == {"startTime": TEN, "endTime": "2026-03-16T10:30:00Z"}


async def test_moving_to_the_same_time_changes_nothing(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    made = await book()
    path = f"/api/v1/bookings/{made.json()['bookingId']}/reschedule"
    answer = await client.patch(path, json={"newStartTime": "2026-03-16T11:00:00+01:00"}, headers=bearer)

    assert answer.status_code == 200
    assert (await read(client, bearer, made))["rescheduleCount"] == 0
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.rescheduled'") == 0


async def test_a_booking_can_move_into_time_that_it_overlaps_itself(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime, user: User
) -> None:
    await offer(runtime, user, "fine", slot_interval_minutes=10, buffer_after=30)
    made = await book(eventTypeSlug="fine")
    path = f"/api/v1/bookings/{made.json()['bookingId']}/reschedule"

    assert (await client.patch(path, json={"newStartTime": "2026-03-16T10:10:00Z"}, headers=bearer)).status_code == 200


async def test_a_booking_can_not_move_to_taken_wrong_or_past_time(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book
) -> None:
    made = await book()
    await book(ELEVEN)
    path = f"/api/v1/bookings/{made.json()['bookingId']}/reschedule"

    assert (await client.patch(path, json={"newStartTime": ELEVEN}, headers=bearer)).json() == TAKEN
    for wrong in ("2026-03-16T11:11:00Z", "2026-03-15T10:00:00Z"):
        answer = await client.patch(path, json={"newStartTime": wrong}, headers=bearer)
        assert answer.status_code == 400
        assert "newStartTime" in answer.json()["details"]
    assert (await read(client, bearer, made))["startTime"] == TEN


async def test_what_is_over_or_cancelled_can_not_be_changed(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, clock: MovingClock
) -> None:
    made, cancelled = await book(), await book(ELEVEN)
    path, other = (f"/api/v1/bookings/{each.json()['bookingId']}" for each in (made, cancelled))
    await client.post(f"{other}/cancel", headers=bearer)
    move = {"newStartTime": "2026-03-17T10:00:00Z"}
    assert (await client.patch(f"{other}/reschedule", json=move, headers=bearer)).status_code == 409

    clock.pass_time(hours=12)
    assert (await client.post(f"{path}/cancel", headers=bearer)).status_code == 409
    assert (await client.patch(f"{path}/reschedule", json=move, headers=bearer)).status_code == 409
    assert (await client.post(f"{other}/cancel", headers=bearer)).status_code == 200
