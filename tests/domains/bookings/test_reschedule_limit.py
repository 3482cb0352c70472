"""Rescheduling by the manage link: ten times in 24 hours, exactly, and no limit for those on the host's side."""

import asyncio
from collections import Counter
from datetime import datetime

import httpx2
import pytest

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, Book
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock

DAY_AFTER = [f"2026-03-17T{hour:02}:{minute}:00Z" for hour in range(9, 17) for minute in ("00", "30")]


@pytest.fixture
async def link(client: httpx2.AsyncClient, meeting: EventType) -> str:
    """Book, and return the API's path of the manage link."""
    made = (await client.post("/api/bookings", json=public_body(meeting))).json()
    return "/api/public/manage/" + str(made["manageUrl"]).rpartition("/")[2]


async def move(client: httpx2.AsyncClient, link: str, start: str) -> httpx2.Response:
    return await client.post(f"{link}/reschedule", json={"newStartTime": start})


async def test_a_link_reschedules_ten_times_in_any_24_hours(
    client: httpx2.AsyncClient, link: str, clock: MovingClock, runtime: Runtime
) -> None:
    for start in DAY_AFTER[:5]:
        assert (await move(client, link, start)).status_code == 200
    clock.pass_time(hours=1)
    for start in DAY_AFTER[5:10]:
        assert (await move(client, link, start)).status_code == 200

    refused = await move(client, link, DAY_AFTER[11])
    assert (refused.status_code, refused.headers["retry-after"]) == (429, str(23 * 3600))
    assert refused.headers["x-error-code"] == "reschedule_limit_exceeded"
    assert refused.json() == {"error": "This booking was rescheduled too often today"}
    assert (await client.get(link)).json()["startTime"] == DAY_AFTER[9]
    assert (await move(client, link, DAY_AFTER[9])).status_code == 200
    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.rescheduled'") == 10

    clock.pass_time(hours=23)
    answers = [(await move(client, link, f"2026-03-18T{hour}:00:00Z")).status_code for hour in range(10, 16)]
    assert answers == [200] * 5 + [429]
    assert (await client.post(f"{link}/cancel")).status_code == 200


async def test_what_is_refused_or_changes_nothing_is_not_counted(
    client: httpx2.AsyncClient, link: str, meeting: EventType
) -> None:
    other = await client.post("/api/bookings", json=public_body(meeting, DAY_AFTER[15], inviteeEmail="o@x.example"))
    assert other.status_code == 200
    for _ in range(11):
        assert (await move(client, link, TEN)).status_code == 200
        assert (await move(client, link, DAY_AFTER[15])).status_code == 409
        assert (await move(client, link, "2026-03-17T09:07:00Z")).status_code == 400

    assert [(await move(client, link, start)).status_code for start in DAY_AFTER[:11]] == [200] * 10 + [429]


async def test_the_hosts_side_reschedules_as_often_as_it_likes(
    client: httpx2.AsyncClient, bearer: dict[str, str], book: Book, runtime: Runtime
) -> None:
    booking_id = (await book()).json()["bookingId"]
    for start in [*DAY_AFTER[:12], TEN]:
        sent = await client.patch(
            f"/api/v1/bookings/{booking_id}/reschedule", json={"newStartTime": start}, headers=bearer
        )
        assert sent.status_code == 200
    for kind in (ActorKind.SESSION, ActorKind.AGENT, ActorKind.SYSTEM):
        for start in DAY_AFTER[:12]:
            async with runtime.transaction(Actor(kind=kind)) as work:
                await bookings.reschedule_booking(work, BookingRef(booking_id, None), datetime.fromisoformat(start))

    shown = (await client.get(f"/api/v1/bookings/{booking_id}", headers=bearer)).json()
    link = "/api/public/manage/" + shown["manageUrl"].rpartition("/")[2]
    assert [(await move(client, link, start)).status_code for start in DAY_AFTER[:11]] == [200] * 10 + [429]


async def test_tries_at_the_same_moment_take_exactly_the_places_that_are_left(
    client: httpx2.AsyncClient, link: str, runtime: Runtime
) -> None:
    assert [(await move(client, link, start)).status_code for start in DAY_AFTER[:6]] == [200] * 6
    page = link.replace("/api/public", "")
    tries = [
        move(client, link, start) if number % 2 else client.post(f"{page}/reschedule", data={"start": start})
        for number, start in enumerate(DAY_AFTER[6:16])
    ]
    statuses = Counter(answer.status_code for answer in await asyncio.gather(*tries))

    assert statuses[200] + statuses[303] == 4
    assert statuses[429] == 6
    counted = "select count(*) from events where type = 'booking.rescheduled'"
    assert await runtime.pool.fetchval(counted) == 10
    assert await runtime.pool.fetchval("select reschedule_count from bookings") == 10
