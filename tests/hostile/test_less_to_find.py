"""Who gets hold of a copy of the database finds no link and no token in it."""

import asyncio
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from openslot.accounts.models import User
from openslot.bookings.links import manage_token
from openslot.core.actor import OPERATOR
from openslot.core.ids import new_id
from openslot.core.moments import Span
from openslot.core.work import Runtime
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.jobs.worker import run_job
from openslot.webhooks import operations as webhooks
from openslot.webhooks.models import EndpointRef, Replay
from openslot.wiring import WIRING
from tests.bookings.conftest import ELEVEN, offer
from tests.hostile.support import find_in_dump
from tests.support.bookings import public_body
from tests.support.clocks import MovingClock
from tests.support.effects import work_until_settled
from tests.support.private_tokens import get_private_token
from tests.support.receiver import Receiver
from tests.upgrades.facts import load_facts
from tests.webhooks.conftest import Add, add, clock, receiver, settings

__all__ = ["add", "clock", "receiver", "settings"]

NOON, ONE = "2026-03-16T12:00:00Z", "2026-03-16T13:00:00Z"
SEALING = [
    job for job in WIRING.periodic if job.name in {"event_types.seal_tokens", "bookings.remove_links", "webhooks.seal"}
]
AS_BEFORE = """
update effects set state = 'queued', next_try_at = $1,
    reaction = case reaction when 'webhooks.send' then 'webhooks.deliver' else 'webhooks.fan_out' end
where reaction like 'webhooks.%'"""
FACT = """
insert into events (id, type, at, actor, tenant_id, subject_kind, subject_id, fact, public)
values ($1, $2, $3, '{"kind": "public"}', $4, 'booking', $5, $6, $7)"""


def token_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    url: str = answer.json()["manageUrl"]
    return url.rpartition("/")[2]


async def make_private(runtime: Runtime, event_type: EventType) -> str:
    async with runtime.transaction(OPERATOR) as work:
        return await get_private_token(work, await event_types.make_private(work, event_type))


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
    hidden = await offer(runtime, user, "hidden", is_private=True)
    first = await get_private_token(runtime.work(OPERATOR), hidden)
    private = await make_private(runtime, hidden)
    retried = {"Idempotency-Key": "once"}

    booked = await client.post("/api/bookings", json=public_body(meeting), headers=retried)
    again = await client.post("/api/bookings", json=public_body(meeting), headers=retried)
    assert (again.content, again.headers["idempotent-replayed"]) == (booked.content, "true")
    held = await client.post(
        "/api/public/holds", json={"eventTypeId": str(hidden.id), "startTime": ELEVEN} | {"token": private}
    )
    by_hold = await client.post(
        "/api/bookings", json=public_body(hidden, ELEVEN, token=private, holdId=held.json()["holdId"]), headers=retried
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

    assert await find_in_dump(runtime, links | {first, private, secret, bearer["Authorization"].split()[1]}) == []
    assert await find_in_dump(runtime, {"Li Wei"})


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


async def write_as_before(runtime: Runtime, user: User, meeting: EventType) -> tuple[set[str], UUID, dict[str, Any]]:
    """Write into the database what 0.1.0 would have written of one booking; name what must not stay in the clear."""
    golden = next(each for each in load_facts("booking.created") if each.fact["event_type"]["private_token"])
    assert golden.public is not None
    booking_id, event_id, token = new_id(), new_id(), f"of-{'t' * 40}"
    link = f"https://then.example/book/manage/{manage_token(runtime, booking_id)}"
    notes = 'He said: "manageUrl":"https://book.example"'
    fact = golden.fact | {
        "manage_url": link,
        "event_type": golden.fact["event_type"] | {"private_token": token},
    }
    public = golden.public | {"id": str(booking_id), "manageUrl": link, "notes": notes}
    now = runtime.clock()
    texts = [msgspec.json.encode(each).decode() for each in (fact, public)]
    await runtime.pool.execute(FACT, event_id, "booking.created", now, user.id, booking_id, *texts)
    sent = {"id": str(event_id), "type": "booking.created", "createdAt": "2026-03-16T07:00:00Z", "data": public}
    await runtime.pool.execute(
        "insert into webhook_messages (event_id, body, kept_since) values ($1, $2, $3)",
        event_id,
        msgspec.json.encode(sent),
        now,
    )
    await runtime.pool.execute("update event_types set private_token = $2 where id = $1", meeting.id, token)
    return {link, token}, event_id, sent


async def log_as_before(runtime: Runtime, endpoint_id: UUID, event_id: UUID, answer: bytes) -> UUID:
    attempt_id = new_id()
    await runtime.pool.execute(
        """insert into webhook_deliveries (id, endpoint_id, event_id, effect_id, attempt, at, url, request_headers,
            status, answer, duration_ms) values ($1, $2, $3, $1, 1, $4, 'http://x.example', '{}', 200, $5, 1)""",
        attempt_id,
        endpoint_id,
        event_id,
        runtime.clock(),
        answer,
    )
    return attempt_id


async def seal_all(runtime: Runtime) -> list[str]:
    return [await run_job(runtime, job) for job in SEALING]


@pytest.mark.own_database
async def test_what_an_earlier_release_has_kept_in_the_clear_is_sealed_a_day_after_the_rollout(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    bearer: dict[str, str],
    add: Add,
    receiver: Receiver,
    clock: MovingClock,
) -> None:
    endpoint, _ = await add(receiver.url)
    meeting = await offer(runtime, user, "meeting")
    needles, event_id, sent = await write_as_before(runtime, user, meeting)
    link, token = sorted(needles, key=len, reverse=True)
    attempt_id = await log_as_before(runtime, endpoint.id, event_id, f"thanks for {link}".encode())
    await runtime.pool.execute("update migrations set applied_at = $1", clock.now)

    async def what_is_told() -> tuple[Any, ...]:
        feed = (await client.get("/api/v1/events", headers=bearer)).json()["data"]
        slots = await client.get(
            "/api/public/mara/meeting/slots", params={"timezone": "UTC", "startDate": "2026-03-17", "token": token}
        )
        logged, _ = await webhooks.list_attempts(runtime.work(OPERATOR), EndpointRef(endpoint.id))
        kept = next(each.attempt.answer for each in logged if each.attempt.id == attempt_id)
        shown = await get_private_token(runtime.work(OPERATOR), meeting)
        return feed, slots.status_code, kept, shown

    before = await what_is_told()
    assert before[0] == [sent]
    assert before[1:] == (200, f"thanks for {link}".encode(), token)
    clock.pass_time(hours=23)
    assert await seal_all(runtime) == ["waiting for the end of the rollout"] * 3
    assert len(await find_in_dump(runtime, needles)) == 4
    clock.pass_time(hours=2)
    assert await seal_all(runtime) == [
        "1 private tokens sealed",
        "links removed from 1 facts",
        "1 bodies, 1 answers sealed",
    ]

    assert await find_in_dump(runtime, needles) == []
    assert await what_is_told() == before
    assert await seal_all(runtime) == [
        "0 private tokens sealed",
        "links removed from 0 facts",
        "0 bodies, 0 answers sealed",
    ]
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.replay_delivery(work, attempt_id, owner_id=None)
    await work_until_settled(runtime, clock)
    assert [each.body for each in receiver.got] == [msgspec.json.encode(sent)]


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
        assert await webhooks.replay(work, EndpointRef(endpoint.id), Span(), Replay.ALL) == 1
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 2
    assert receiver.got[0].body == receiver.got[1].body


async def test_what_workers_of_the_release_before_would_send_in_the_clear_is_not_theirs_to_do(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, add: Add, receiver: Receiver, clock: MovingClock
) -> None:
    await add(receiver.url, "booking.created")
    meeting = await offer(runtime, user, "meeting")
    assert (await client.post("/api/bookings", json=public_body(meeting))).status_code == 200
    await work_until_settled(runtime, clock)
    found = await runtime.pool.fetch("select distinct reaction from effects where reaction like 'webhooks.%'")
    assert {row["reaction"] for row in found} == {"webhooks.dispatch", "webhooks.send"}

    await runtime.pool.execute("delete from webhook_deliveries")
    await runtime.pool.execute(AS_BEFORE, clock.now)
    await work_until_settled(runtime, clock)

    assert len(receiver.got) == 3
    assert len({each.body for each in receiver.got}) == 1
