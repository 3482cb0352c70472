"""Event types whose host confirms each booking: asked for, confirmed, declined, lapsed, withdrawn."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.errors import RequestNotFound, RequestNotOpen
from openslot.domains.bookings.models import BookingRef, RequestState, Status
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import EventTypeInUse
from openslot.domains.event_types.models import EventType, Location, LocationKind, Money
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor, ActorKind
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.bookings.conftest import offer, slots
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import stranger

__all__ = ["stranger"]

TEN = "2026-03-16T10:00:00Z"
SECRET = "https://meet.example/secret-room"


@pytest.fixture
async def asked(runtime: Runtime, user: User) -> EventType:
    """A meeting that its host confirms."""
    place = Location(LocationKind.VIDEO_LINK, SECRET)
    return await offer(runtime, user, "asked", requires_confirmation=True, location=place)


async def ask(client: httpx2.AsyncClient, event_type: EventType, start: str = TEN, **changes: Any) -> dict[str, Any]:
    answer = await client.post("/api/bookings", json=public_body(event_type, start, **changes))
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()
    return found


def ref_of(asked_for: dict[str, Any], host: User) -> BookingRef:
    return BookingRef(UUID(asked_for["bookingId"]), host.id)


async def types_of(runtime: Runtime, asked_for: dict[str, Any]) -> list[str]:
    rows = await runtime.pool.fetch(
        "select type, public is not null as is_told from events where subject_id = $1::text::uuid order by no",
        asked_for["bookingId"],
    )
    return [row["type"] + ("*" if row["is_told"] else "") for row in rows]


async def manage(client: httpx2.AsyncClient, asked_for: dict[str, Any]) -> dict[str, Any]:
    token = asked_for["manageUrl"].rpartition("/")[2]
    answer = await client.get(f"/api/public/manage/{token}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_what_is_asked_for_takes_the_time_and_nobody_else_sees_it(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str], asked: EventType
) -> None:
    made = await ask(client, asked)
    assert made["status"] == "PENDING_CONFIRMATION"
    assert "paymentUrl" not in made
    assert TEN not in await slots(client, bearer, "asked")
    listed = await client.get("/api/v1/bookings", headers=bearer)
    assert (listed.json()["data"], listed.json()["pagination"]["total"]) == ([], 0)
    for method, path in (("GET", ""), ("POST", "/cancel")):
        answer = await client.request(method, f"/api/v1/bookings/{made['bookingId']}{path}", headers=bearer)
        assert answer.status_code == 404
    contacts = await client.get("/api/v1/contacts", headers=bearer)
    assert contacts.json()["data"] == []
    assert await types_of(runtime, made) == ["booking.requested"]
    shown = await manage(client, made)
    assert (shown["status"], shown["canChange"], shown["location"]["value"]) == ("PENDING_CONFIRMATION", True, "")


async def test_confirmed_request_is_a_booking_with_all_that_follows(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str], asked: EventType
) -> None:
    made = await ask(client, asked)
    async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=user.id)) as work:
        booking = await requests.confirm_booking_request(work, ref_of(made, user))
    assert booking.status is Status.CONFIRMED
    found = await client.get(f"/api/v1/bookings/{made['bookingId']}", headers=bearer)
    assert (found.json()["status"], found.json()["location"]["value"]) == ("CONFIRMED", SECRET)
    assert found.json()["contact"]["email"] == "li@wei.example"
    assert await types_of(runtime, made) == ["booking.requested", "booking.created*"]
    assert (await manage(client, made))["location"]["value"] == SECRET
    async with runtime.transaction(OPERATOR) as work:
        again = await requests.confirm_booking_request(work, ref_of(made, user))
        with pytest.raises(RequestNotOpen):
            await requests.decline_booking_request(work, ref_of(made, user))
    assert again.status is Status.CONFIRMED
    assert len(await types_of(runtime, made)) == 2
    assert TEN not in await slots(client, bearer, "asked")


async def test_declined_time_is_offered_again_and_no_webhook_tells_of_it(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str], asked: EventType
) -> None:
    made = await ask(client, asked)
    async with runtime.transaction(OPERATOR) as work:
        ended = await requests.decline_booking_request(work, ref_of(made, user), reason="I travel that day")
        assert (await requests.decline_booking_request(work, ref_of(made, user))).reason == "I travel that day"
    assert ended.state is RequestState.DECLINED
    assert TEN in await slots(client, bearer, "asked")
    assert await types_of(runtime, made) == ["booking.requested", "booking.declined"]
    shown = await manage(client, made)
    assert (shown["status"], shown["cancelReason"], shown["canChange"]) == ("CANCELLED", "I travel that day", False)
    assert (await client.get("/api/v1/bookings", headers=bearer)).json()["data"] == []
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(RequestNotOpen):
            await requests.confirm_booking_request(work, ref_of(made, user))
    assert (await ask(client, asked))["status"] == "PENDING_CONFIRMATION"


async def test_other_hosts_can_not_answer(
    client: httpx2.AsyncClient, runtime: Runtime, stranger: User, asked: EventType
) -> None:
    made = await ask(client, asked)
    async with runtime.transaction(OPERATOR) as work:
        for verb in (requests.confirm_booking_request, requests.decline_booking_request, requests.get_request):
            with pytest.raises(RequestNotFound):
                await verb(work, ref_of(made, stranger))


@pytest.mark.parametrize(("start", "hours"), [("2026-03-19T10:00:00Z", 48), (TEN, 3)])
async def test_unanswered_request_lapses_after_two_days_or_at_its_start(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    bearer: dict[str, str],
    asked: EventType,
    clock: MovingClock,
    start: str,
    hours: int,
) -> None:
    made = await ask(client, asked, start)
    request = (await requests.get_request(runtime.work(OPERATOR), ref_of(made, user))).request
    assert request.lapses_at == runtime.clock() + timedelta(hours=hours)
    clock.now = request.lapses_at - timedelta(seconds=1)
    await run_lapses(runtime, clock)
    assert (await manage(client, made))["status"] == "PENDING_CONFIRMATION"
    clock.now = request.lapses_at
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(RequestNotOpen):
            await requests.confirm_booking_request(work, ref_of(made, user))
    await run_lapses(runtime, clock)
    assert await types_of(runtime, made) == ["booking.requested", "booking.lapsed"]
    assert (await manage(client, made))["status"] == "CANCELLED"
    free = await runtime.pool.fetchval("select not active from claims where event_type_id = $1", asked.id)
    assert free


async def run_lapses(runtime: Runtime, clock: MovingClock) -> None:
    await run_job(runtime, requests.REQUEST_JOBS[0])
    await work_off(runtime, clock)


async def test_invitee_withdraws_and_can_not_reschedule(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str], asked: EventType
) -> None:
    made = await ask(client, asked)
    path = f"/api/public/manage/{made['manageUrl'].rpartition('/')[2]}"
    moved = await client.post(f"{path}/reschedule", json={"newStartTime": "2026-03-16T11:00:00Z"})
    assert (moved.status_code, moved.headers["x-error-code"]) == (409, "booking_not_confirmed")
    for _ in range(2):
        answer = await client.post(f"{path}/cancel")
        assert answer.status_code == 200
    assert await types_of(runtime, made) == ["booking.requested", "booking.withdrawn"]
    assert TEN in await slots(client, bearer, "asked")
    assert (await manage(client, made))["status"] == "CANCELLED"


async def test_host_books_directly(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str], asked: EventType
) -> None:
    body = {key: value for key, value in public_body(asked, TEN).items() if key != "eventTypeId"}
    answer = await client.post("/api/v1/bookings", json={**body, "eventTypeSlug": "asked"}, headers=bearer)
    assert answer.status_code == 200
    found = await client.get(f"/api/v1/bookings/{answer.json()['bookingId']}", headers=bearer)
    assert found.json()["status"] == "CONFIRMED"
    assert not await runtime.pool.fetchval("select count(*) from booking_requests")


async def test_each_seat_asks_for_itself(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, bearer: dict[str, str]
) -> None:
    group = await offer(runtime, user, "group", requires_confirmation=True, seats=2)
    first, second = await ask(client, group), await ask(client, group, inviteeEmail="b@wei.example")
    assert TEN not in await slots(client, bearer, "group")
    async with runtime.transaction(OPERATOR) as work:
        await requests.confirm_booking_request(work, ref_of(first, user))
        await requests.decline_booking_request(work, ref_of(second, user))
    assert TEN in await slots(client, bearer, "group")
    listed = (await client.get("/api/v1/bookings", headers=bearer)).json()["data"]
    assert [each["id"] for each in listed] == [first["bookingId"]]
    third = await ask(client, group, inviteeEmail="c@wei.example")
    assert TEN not in await slots(client, bearer, "group")
    async with runtime.transaction(PUBLIC) as work:
        await requests.withdraw_booking_request(work, UUID(third["bookingId"]))
    active = await runtime.pool.fetchval("select active from claims where event_type_id = $1", group.id)
    assert active


async def test_confirmation_and_price_exclude_each_other(runtime: Runtime, user: User, asked: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(Invalid) as refused:
            await event_types.change_event_type(work, replace(asked, price=Money(4900, "EUR")))
    assert "price" in refused.value.faults["requiresConfirmation"]
    priced = await offer(runtime, user, "priced", price=Money(4900, "EUR"))
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(Invalid) as refused:
            await event_types.change_event_type(work, replace(priced, requires_confirmation=True))
    assert "price" in refused.value.faults["requiresConfirmation"]


async def test_host_who_leaves_declines_what_waits(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, asked: EventType
) -> None:
    made = await ask(client, asked)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    assert await types_of(runtime, made) == ["booking.requested", "booking.declined"]
    assert not await runtime.pool.fetchval("select count(*) from claims where active")
    shown = await manage(client, made)
    assert (shown["status"], user.name in shown["cancelReason"]) == ("CANCELLED", True)


async def test_event_type_with_an_open_request_stays_and_goes_once_it_has_ended(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, asked: EventType
) -> None:
    made = await ask(client, asked)
    with pytest.raises(EventTypeInUse):
        async with runtime.transaction(OPERATOR) as work:
            await event_types.delete_event_type(work, asked)
    async with runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, ref_of(made, user))
        await event_types.delete_event_type(work, asked)
    assert not await runtime.pool.fetchval("select count(*) from bookings")


async def test_ended_requests_are_deleted_after_thirty_days(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, asked: EventType, clock: MovingClock
) -> None:
    ended, kept = await ask(client, asked), await ask(client, asked, "2026-03-16T11:00:00Z")
    async with runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, ref_of(ended, user))
        await requests.confirm_booking_request(work, ref_of(kept, user))
    clock.now += timedelta(days=30, seconds=1)
    await run_job(runtime, requests.REQUEST_JOBS[1])
    assert [str(row["id"]) for row in await runtime.pool.fetch("select id from bookings")] == [kept["bookingId"]]
    assert await runtime.pool.fetchval("select count(*) from claims") == 1


async def test_switching_the_option_off_leaves_what_was_asked_for_open(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, asked: EventType
) -> None:
    made = await ask(client, asked)
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(asked, requires_confirmation=False))
    assert (await ask(client, asked, "2026-03-16T11:00:00Z"))["status"] == "CONFIRMED"
    async with runtime.transaction(OPERATOR) as work:
        assert (await requests.confirm_booking_request(work, ref_of(made, user))).status is Status.CONFIRMED
