"""The public side: booking, holding and managing without a key."""

import asyncio

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.domains.availability.claims.expiry.jobs import expire_holds
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, TEN, Book, offer
from tests.support.bookings import hold_publicly, public_body
from tests.support.clocks import MovingClock
from tests.support.live import connect, serving
from tests.support.private_tokens import get_private_token

TAKEN = {"error": "This time is no longer available"}


async def test_anyone_books_and_gets_a_link(client: httpx2.AsyncClient, meeting: EventType) -> None:
    answer = await client.post("/api/bookings", json=public_body(meeting))

    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert set(made) == {"bookingId", "status", "startTime", "endTime", "manageUrl"}
    assert (made["status"], made["startTime"], made["endTime"]) == ("CONFIRMED", TEN, "2026-03-16T10:30:00Z")


async def test_other_sites_may_book_for_their_visitors(client: httpx2.AsyncClient, meeting: EventType) -> None:
    asked = await client.options("/api/bookings", headers={"Origin": "https://shop.example"})
    answer = await client.post("/api/bookings", json=public_body(meeting), headers={"Origin": "https://shop.example"})

    assert asked.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("event_type_id", ["", "nonsense", "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e90", "a\u0000b", 5])
async def test_an_unknown_event_type_is_not_found(
    client: httpx2.AsyncClient, meeting: EventType, event_type_id: object
) -> None:
    answer = await client.post("/api/bookings", json=public_body(meeting) | {"eventTypeId": event_type_id})

    assert answer.status_code == (404 if isinstance(event_type_id, str) and "\u0000" not in event_type_id else 400)


async def test_a_link_reads_moves_and_cancels_its_booking_alone(
    client: httpx2.AsyncClient, meeting: EventType, runtime: Runtime
) -> None:
    made = (await client.post("/api/bookings", json=public_body(meeting))).json()
    path = "/api/public/manage/" + made["manageUrl"].rpartition("/")[2]

    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["id"], found["host"]["name"], found["canChange"]) == (made["bookingId"], "Mara Lindqvist", True)
    assert "inviteeEmail" not in found

    moved = await client.post(f"{path}/reschedule", json={"newStartTime": ELEVEN})
    assert moved.json() == {"success": True}
    cancelled = await client.post(f"{path}/cancel", json={"reason": "Changed my mind"})
    assert cancelled.json() == {"success": True}
    found = (await client.get(path)).json()
    assert (found["status"], found["startTime"], found["canChange"]) == ("CANCELLED", ELEVEN, False)
    assert await runtime.pool.fetchval("select cancelled_by from bookings") == "invitee"


async def test_a_forged_link_opens_nothing(client: httpx2.AsyncClient, meeting: EventType) -> None:
    made = (await client.post("/api/bookings", json=public_body(meeting))).json()
    token = made["manageUrl"].rpartition("/")[2]
    forged = [
        token[:-1],
        token + "A",
        token[::-1],
        token.swapcase(),
        "A" * len(token),
        "%00",
        "é",
        "x" * 3000,
        made["bookingId"],
    ]

    for each in forged:
        assert (await client.get(f"/api/public/manage/{each}")).status_code == 404
        assert (await client.post(f"/api/public/manage/{each}/cancel")).status_code == 404


async def test_a_held_slot_is_kept_for_its_holder(
    client: httpx2.AsyncClient, meeting: EventType, runtime: Runtime
) -> None:
    held = (await hold_publicly(client, meeting)).json()
    assert held["expiresAt"] == "2026-03-16T07:10:00Z"
    assert (await client.post("/api/bookings", json=public_body(meeting))).json() == TAKEN

    mine = await client.post("/api/bookings", json=public_body(meeting, holdId=held["holdId"]))
    assert mine.status_code == 200, mine.text
    assert [row["kind"] for row in await runtime.pool.fetch("select kind from claims where active")] == ["booking"]


async def test_a_hold_runs_out_without_anyone_looking(
    client: httpx2.AsyncClient, meeting: EventType, clock: MovingClock, runtime: Runtime
) -> None:
    held = (await hold_publicly(client, meeting)).json()
    clock.pass_time(minutes=10)

    assert (await client.post("/api/bookings", json=public_body(meeting))).status_code == 200
    late = await client.post("/api/bookings", json=public_body(meeting, holdId=held["holdId"]))
    assert late.json() == TAKEN
    async with runtime.transaction(SYSTEM) as work:
        assert await expire_holds(work) == "0 holds expired"


async def test_a_dropped_hold_is_free_at_once(client: httpx2.AsyncClient, meeting: EventType) -> None:
    held = (await hold_publicly(client, meeting)).json()

    assert (await client.delete(f"/api/public/holds/{held['holdId']}")).json() == {"success": True}
    assert (await client.delete(f"/api/public/holds/{held['holdId']}")).status_code == 404
    assert (await client.post("/api/bookings", json=public_body(meeting))).status_code == 200


async def test_a_hold_is_good_for_its_own_time_alone(client: httpx2.AsyncClient, meeting: EventType) -> None:
    held = (await hold_publicly(client, meeting)).json()
    answer = await client.post("/api/bookings", json=public_body(meeting, ELEVEN, holdId=held["holdId"]))

    assert (answer.status_code, answer.json()["details"]) == (400, {"holdId": "is for a different time"})


async def test_an_address_holds_three_slots_at_most(client: httpx2.AsyncClient, meeting: EventType) -> None:
    starts = [f"2026-03-16T{hour}:00:00Z" for hour in range(10, 16)]
    answers = await asyncio.gather(*(hold_publicly(client, meeting, start) for start in starts))

    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [429] * 3


async def test_an_address_books_ten_times_a_minute(settings: Settings, clock: MovingClock, meeting: EventType) -> None:
    app = create_app(replace(settings, limit_public=10), clock=clock)
    async with serving(app) as url, connect(url) as client:
        starts = [f"2026-03-{day}T{hour:02}:00:00Z" for day in (16, 17) for hour in range(9, 17)][:12]
        answers = [await client.post("/api/bookings", json=public_body(meeting, start)) for start in starts]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1


async def test_a_public_retry_books_once(client: httpx2.AsyncClient, meeting: EventType, runtime: Runtime) -> None:
    headers = {"Idempotency-Key": "again"}
    first = await client.post("/api/bookings", json=public_body(meeting), headers=headers)
    second = await client.post("/api/bookings", json=public_body(meeting), headers=headers)
    other = await client.post(
        "/api/bookings", json=public_body(meeting, ELEVEN, inviteeEmail="else@wei.example"), headers=headers
    )

    assert first.json() == second.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert other.status_code == 200
    assert await runtime.pool.fetchval("select count(*) from bookings") == 2


async def test_seats_are_filled_to_the_last_and_freed_again(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, bearer: dict[str, str]
) -> None:
    group = await offer(runtime, user, "group", seats=3)
    made = [
        await client.post("/api/bookings", json=public_body(group, inviteeEmail=f"p{n}@x.example")) for n in range(4)
    ]
    assert [answer.status_code for answer in made] == [200, 200, 200, 409]
    assert (await book(TEN)).status_code == 409

    first = made[0].json()["bookingId"]
    await client.post(f"/api/v1/bookings/{first}/cancel", headers=bearer)
    assert (await client.post("/api/bookings", json=public_body(group))).status_code == 200
    for row in await runtime.pool.fetch("select id from bookings where status = 'CONFIRMED'"):
        await client.post(f"/api/v1/bookings/{row['id']}/cancel", headers=bearer)
    assert (await book(TEN)).status_code == 200


async def test_a_seat_moves_to_another_session_or_takes_its_own_along(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str]
) -> None:
    group = await offer(runtime, user, "group", seats=2, duration_minutes=60, slot_interval_minutes=30)
    one = (await client.post("/api/bookings", json=public_body(group, inviteeEmail="one@x.example"))).json()[
        "bookingId"
    ]

    async def move(booking_id: str, start: str) -> int:
        path = f"/api/v1/bookings/{booking_id}/reschedule"
        return (await client.patch(path, json={"newStartTime": start}, headers=bearer)).status_code

    assert await move(one, "2026-03-16T10:30:00Z") == 200
    two = (await client.post("/api/bookings", json=public_body(group, ELEVEN.replace("11:00", "10:30")))).json()[
        "bookingId"
    ]
    assert await move(two, "2026-03-16T13:00:00Z") == 200
    assert await move(one, "2026-03-16T13:00:00Z") == 200
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 1
    assert await runtime.pool.fetchval("select count(distinct claim_id) from bookings") == 1


async def test_expired_seats_give_the_session_back(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, clock: MovingClock
) -> None:
    group = await offer(runtime, user, "group", seats=2)
    held = await hold_publicly(client, group)
    assert held.status_code == 200
    assert (await book(TEN)).status_code == 409
    clock.pass_time(minutes=11)

    assert (await book(TEN)).status_code == 200
    async with runtime.transaction(SYSTEM) as work:
        await expire_holds(work)
    assert await runtime.pool.fetchval("select count(*) from claims where active") == 1


async def test_a_private_event_type_is_booked_and_held_with_its_token_alone(
    client: httpx2.AsyncClient, runtime: Runtime, meeting: EventType, book: Book
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        private = await event_types.make_event_type_private(work, meeting)
        token = await get_private_token(work, private)
    held_open = {"eventTypeId": str(meeting.id), "startTime": ELEVEN}

    for wrong in ({}, {"token": None}, {"token": ""}, {"token": "x" * 43}, {"token": "\u00e9"}):
        assert (await client.post("/api/bookings", json=public_body(meeting, **wrong))).status_code == 404
        assert (await client.post("/api/public/holds", json={**held_open, **wrong})).status_code == 404
    unknown = await client.post("/api/bookings", json=public_body(meeting) | {"eventTypeId": str(new_id())})
    refused = await client.post("/api/bookings", json=public_body(meeting))
    assert refused.content == unknown.content

    held = await client.post("/api/public/holds", json={**held_open, "token": token})
    assert held.status_code == 200, held.text
    without = await client.post("/api/bookings", json=public_body(meeting, ELEVEN, holdId=held.json()["holdId"]))
    assert without.status_code == 404
    booked = await client.post(
        "/api/bookings", json=public_body(meeting, ELEVEN, holdId=held.json()["holdId"], token=token)
    )
    assert booked.status_code == 200, booked.text
    assert (await client.post("/api/bookings", json=public_body(meeting, token=token))).status_code == 200
    assert (await book("2026-03-16T13:00:00Z")).status_code == 200


async def test_a_private_event_types_booking_is_managed_by_its_link_alone(
    client: httpx2.AsyncClient, runtime: Runtime, meeting: EventType
) -> None:
    made = (await client.post("/api/bookings", json=public_body(meeting))).json()
    async with runtime.transaction(OPERATOR) as work:
        await event_types.make_event_type_private(work, meeting)
    path = "/api/public/manage/" + made["manageUrl"].rpartition("/")[2]

    assert (await client.post(f"{path}/reschedule", json={"newStartTime": ELEVEN})).status_code == 200


@pytest.mark.parametrize(("key", "is_shown"), [("again", False), ("2f0e8c51-again-again", True)])
async def test_who_guesses_a_short_key_elsewhere_gets_no_link(
    settings: Settings, clock: MovingClock, meeting: EventType, key: str, *, is_shown: bool
) -> None:
    app = create_app(replace(settings, trusted_proxies=Networks.parse("127.0.0.0/8")), clock=clock)
    async with serving(app) as url, connect(url) as client:
        answers = [
            await client.post(
                "/api/bookings",
                json=public_body(meeting),
                headers={"Idempotency-Key": key, "X-Forwarded-For": address},
            )
            for address in ("192.0.2.1", "192.0.2.1", "198.51.100.7")
        ]

    first, again, elsewhere = [each.json() for each in answers]
    assert first == again
    assert elsewhere == (first if is_shown else {key: value for key, value in first.items() if key != "manageUrl"})
    assert answers[2].headers["idempotent-replayed"] == "true"
