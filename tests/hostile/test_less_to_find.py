"""Who gets hold of a copy of the database finds no link and no token in it."""

import asyncio

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointRef, Replay
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.moments import Span
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import ELEVEN, offer
from tests.domains.webhooks.conftest import Add, add, clock, receiver, settings
from tests.hostile.support import find_in_dump
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_until_settled
from tests.support.private_tokens import get_private_token
from tests.support.receiver import Receiver

__all__ = ["add", "clock", "receiver", "settings"]

NOON, ONE = "2026-03-16T12:00:00Z", "2026-03-16T13:00:00Z"


def token_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    url: str = answer.json()["manageUrl"]
    return url.rpartition("/")[2]


async def make_private(runtime: Runtime, event_type: EventType) -> str:
    async with runtime.transaction(OPERATOR) as work:
        return await get_private_token(work, await event_types.make_event_type_private(work, event_type))


def echoing(receiver: Receiver) -> None:
    """Have a receiver answer with what it was sent."""

    async def echo(writer: asyncio.StreamWriter) -> None:
        said = receiver.got[-1].body
        # The first kilobyte of an answer is kept: the link is far behind in the body.
        link = said[said.index(b"manageUrl") :] if b"manageUrl" in said else said
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(link) + link)
        await writer.drain()

    receiver.behaviour = echo


async def test_a_dump_holds_no_link_and_no_token(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    bearer: dict[str, str],
    add: Add,
    receiver: Receiver,
    clock: MovingClock,
) -> None:
    echoing(receiver)
    _, secret = await add(receiver.url)
    meeting = await offer(runtime, user, "meeting")
    secluded = await offer(runtime, user, "hidden", is_private=True)
    first = await get_private_token(runtime.work(OPERATOR), secluded)
    private = await make_private(runtime, secluded)
    retried = {"Idempotency-Key": "once"}

    booked = await client.post("/api/bookings", json=public_body(meeting), headers=retried)
    again = await client.post("/api/bookings", json=public_body(meeting), headers=retried)
    assert (again.content, again.headers["idempotent-replayed"]) == (booked.content, "true")
    held = await client.post(
        "/api/public/holds", json={"eventTypeId": str(secluded.id), "startTime": ELEVEN} | {"token": private}
    )
    by_hold = await client.post(
        "/api/bookings",
        json=public_body(secluded, ELEVEN, token=private, holdId=held.json()["holdId"]),
        headers=retried,
    )
    wanted = {
        "eventTypeSlug": "hidden",
        "startTime": NOON,
        "inviteeName": "Jonas Okafor",
        "inviteeEmail": "jonas@okafor.example",
        "inviteeTimezone": "Africa/Lagos",
    }
    by_key = await client.post("/api/v1/bookings", json=wanted, headers={**bearer, **retried})
    path = f"/api/v1/bookings/{by_key.json()['bookingId']}"
    shown = await client.get(path, headers=bearer)
    manage = f"/api/public/manage/{token_of(booked)}"
    moved = await client.post(f"{manage}/reschedule", json={"newStartTime": ONE}, headers=retried)
    cancelled = await client.post(f"{manage}/cancel", json={"reason": "Ill"}, headers=retried)
    assert (moved.status_code, cancelled.status_code) == (200, 200)
    await work_until_settled(runtime, clock)
    links = {token_of(each) for each in (booked, by_hold, shown)}

    sent = {each.json["data"]["manageUrl"] for each in receiver.got if "booking" in each.json["type"]}
    assert len(receiver.got) == 5 + 2
    assert sent == {each.json()["manageUrl"] for each in (booked, by_hold, shown)}
    feed = (await client.get("/api/v1/events?limit=100", headers=bearer)).json()["data"]
    assert {each["id"]: each for each in feed} == {each.id: each.json for each in receiver.got}
    logged, _ = await webhooks.list_attempts(
        runtime.work(OPERATOR), EndpointRef((await webhooks.list_endpoints(runtime.work(OPERATOR), user))[0].id)
    )
    assert {each.attempt.answer and b"manageUrl" in each.attempt.answer for each in logged} == {True, False}

    hidden = links | {first, private, secret, bearer["Authorization"].split()[1]}
    assert await find_in_dump(runtime, hidden, known="Li Wei") == []


async def test_a_message_is_sent_again_byte_by_byte(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, add: Add, receiver: Receiver, clock: MovingClock
) -> None:
    endpoint, _ = await add(receiver.url, "booking.created")
    meeting = await offer(runtime, user, "meeting")
    assert (await client.post("/api/bookings", json=public_body(meeting))).status_code == 200
    receiver.answer(500)
    await work_until_settled(runtime, clock)
    receiver.answer(200)
    logged, _ = await webhooks.list_attempts(runtime.work(OPERATOR), EndpointRef(endpoint.id))
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_delivery(work, logged[0].attempt.id, owner_id=None)
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 11
    assert len({each.body for each in receiver.got}) == 1


async def test_after_a_lost_key_a_message_is_made_anew(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    add: Add,
    receiver: Receiver,
    clock: MovingClock,
) -> None:
    endpoint, _ = await add(receiver.url, "booking.created")
    meeting = await offer(runtime, user, "meeting")
    assert (await client.post("/api/bookings", json=public_body(meeting))).status_code == 200
    await work_until_settled(runtime, clock)
    await runtime.pool.execute("update webhook_messages set sealed = sealed || 'x'")
    async with runtime.transaction(OPERATOR) as work:
        assert await webhooks.replay_events(work, EndpointRef(endpoint.id), Span(), Replay.ALL) == 1
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 2
    assert receiver.got[0].body == receiver.got[1].body
