"""Notices of voice agents: signed as Standard Webhooks, in time, each counted once; faults name their field."""

import asyncio
import json
from datetime import timedelta
from uuid import uuid4

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.models import ProviderName
from openslot.domains.webhooks.rules import new_secret
from openslot.platform.core.work import Runtime
from openslot.vendors.gateway.notices import MAX_BYTES
from tests.domains.messaging.calls.support import WHSEC, read_calls, tell, write_call
from tests.support.clocks import MovingClock
from tests.support.messaging import NUMBER, PHONE, insert_number


async def test_a_call_of_a_voice_agent_is_in_the_log(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, gateway: MessagingConnection
) -> None:
    at = clock.now - timedelta(minutes=2)
    more = {"agentName": "Front desk", "recording": "rec/1", "transcript": "text/1", "at": at.isoformat()}
    answer = await tell(client, runtime, gateway, write_call(**more))

    assert (answer.status_code, answer.json()) == (200, {"received": True})
    (call,) = await read_calls(runtime)
    assert (call["owner_id"], call["caller_phone"], call["agent_name"]) == (user.id, PHONE, "Front desk")
    assert (call["direction"], call["status"], call["duration_seconds"]) == ("inbound", "completed", 42)
    assert (call["started_at"], call["ended_at"]) == (at - timedelta(seconds=42), at)
    assert (call["recording"], call["transcript"]) == ("rec/1", "text/1")
    row = await runtime.pool.fetchrow("select recording, transcript from calls")
    assert row is not None
    assert b"rec/1" not in row["recording"]
    assert b"text/1" not in row["transcript"]


async def test_the_api_lists_it_as_specified(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, api_key: str, gateway: MessagingConnection
) -> None:
    await tell(client, runtime, gateway, write_call(agentName="Front desk", recording="rec/1", status="busy"))

    answer = await client.get("/api/v1/calls?status=NO_ANSWER", headers={"authorization": f"Bearer {api_key}"})

    (call,) = answer.json()["data"]
    assert set(call) == {
        *("id", "direction", "callerPhone", "durationSeconds", "status", "agentName", "startedAt"),
        *("createdAt", "updatedAt"),
    }
    assert (call["status"], call["agentName"], call["callerPhone"]) == ("no_answer", "Front desk", PHONE)


async def test_what_is_ready_later_is_added_in_whichever_order_it_comes(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, gateway: MessagingConnection
) -> None:
    first, then = clock.now - timedelta(minutes=9), clock.now
    told = [
        write_call(sequence=0, status="in_progress", at=first.isoformat(), agentName="Front desk"),
        write_call(sequence=1, at=(first + timedelta(seconds=42)).isoformat()),
        write_call(sequence=2, at=then.isoformat(), recording="rec/1"),
        write_call(sequence=3, at=then.isoformat(), transcript="text/1"),
    ]
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        for index in (*order, *order):
            assert (await tell(client, runtime, gateway, told[index])).status_code == 200
        (call,) = await read_calls(runtime)
        assert (call["agent_name"], call["recording"], call["transcript"]) == ("Front desk", "rec/1", "text/1")
        assert (call["started_at"], call["ended_at"]) == (first, first + timedelta(seconds=42))
        await runtime.pool.execute("delete from calls; delete from call_notices")


async def test_notices_without_a_number_of_their_own_are_joined(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    for more in ({}, {"transcript": "text/1"}, {"transcript": "text/2"}):
        await tell(client, runtime, gateway, write_call(**more))

    (call,) = await read_calls(runtime)
    assert call["transcript"] == "text/1"


async def test_forged_late_and_early_notices_are_refused(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    refused = [
        await tell(client, runtime, gateway, write_call(), secret="whsec_" + "A" * 32),
        await tell(client, runtime, gateway, write_call(), ago=timedelta(minutes=6)),
        await tell(client, runtime, gateway, write_call(), ago=-timedelta(minutes=6)),
        await client.post(f"/api/notices/calls/{gateway.id}", content=write_call()),
        await tell(client, runtime, replace(gateway, id=uuid4()), write_call()),
    ]

    assert {(each.status_code, each.text) for each in refused} == {(403, '{"error":"The notice is not valid"}')}
    assert await read_calls(runtime) == []
    assert await runtime.pool.fetchval("select count(*) from call_notices") == 0


async def test_both_secrets_verify_while_one_is_replaced(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    newer = new_secret()
    changed = replace(gateway, token=runtime.secrets.seal(newer), second_token=gateway.token)
    await connection_store.update(runtime.pool, changed)

    for number, secret in enumerate((WHSEC, newer)):
        answer = await tell(client, runtime, gateway, write_call(id=f"call-{number}"), secret=secret)
        assert answer.status_code == 200
    assert len(await read_calls(runtime)) == 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"status": "sleeping"}, "$.data.status"),
        ({"direction": "sideways"}, "$.data.direction"),
        ({"durationSeconds": -1}, "$.data.durationSeconds"),
        ({"durationSeconds": None}, "durationSeconds is missing"),
        ({"agentName": "a\nb"}, "$.data.agentName"),
        ({"agentName": "a" * 201}, "$.data.agentName"),
        ({"recording": "r" * 1025}, "$.data.recording"),
        ({"id": ""}, "$.data.id"),
        ({"id": "a\x00b"}, "$.data.id"),
        ({"to": "+493099999999"}, "another number"),
        ({"at": "yesterday"}, "$.data.at"),
        ({"at": "2026-03-16T07:00:00"}, "$.data.at"),
        ({"at": "0001-01-01T00:00:00Z"}, "more than 30 days ago"),
    ],
)
async def test_a_fault_in_a_signed_notice_names_its_field(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection, changed: dict[str, object], words: str
) -> None:
    answer = await tell(client, runtime, gateway, write_call(**changed))

    assert answer.status_code == 400
    assert words in answer.json()["details"]["body"]
    assert await read_calls(runtime) == []


async def test_a_time_to_come_counts_as_now(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, gateway: MessagingConnection
) -> None:
    answer = await tell(client, runtime, gateway, write_call(at="9999-12-31T23:59:59Z"))

    assert answer.status_code == 200
    (call,) = await read_calls(runtime)
    assert call["ended_at"] == clock.now


@pytest.mark.rest("sends megabytes")
async def test_a_notice_that_is_too_large_is_refused(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    assert (await tell(client, runtime, gateway, write_call(agentName="x" * MAX_BYTES))).status_code == 413


async def test_junk_is_refused_without_a_look_up_and_leaves_no_rows(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    async with runtime.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock messaging_connections in access exclusive mode")
        async with asyncio.timeout(5):
            assert (await client.post(f"/api/notices/calls/{gateway.id}", content=b"{}")).status_code == 403
    for number in range(20):
        headers = {"webhook-signature": f"v1,{number}", "webhook-id": "a", "webhook-timestamp": "1"}
        answer = await client.post(f"/api/notices/calls/{uuid4()}", content=b"{}", headers=headers)
        assert answer.status_code == 403
    for table in ("calls", "call_notices", "call_recordings"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0


async def test_a_gateway_for_messages_tells_of_calls_at_its_own_address(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    sms = await insert_number(
        runtime, user_id=user.id, provider=ProviderName.GATEWAY, account="https://gateway.example", token=WHSEC
    )
    assert (await tell(client, runtime, sms, write_call(), path="gateway")).status_code == 200

    assert len(await read_calls(runtime)) == 1


async def test_two_numbers_that_tell_of_one_call_keep_it_once_and_apart(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, gateway: MessagingConnection
) -> None:
    sms = await insert_number(
        runtime, user_id=user.id, provider=ProviderName.GATEWAY, account="https://other.example", token=WHSEC
    )
    await tell(client, runtime, gateway, write_call())
    assert (await tell(client, runtime, sms, write_call(recording="theirs"), path="gateway")).status_code == 200

    (call,) = await read_calls(runtime)
    assert (call["connection_id"], call["recording"]) == (gateway.id, None)


async def test_a_connection_for_calls_takes_no_messages(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    told = {"id": "m-1", "channel": "sms", "from": PHONE, "to": NUMBER, "body": "Hi"}
    answer = await tell(client, runtime, gateway, json.dumps({"type": "message.received", "data": told}))

    assert answer.status_code == 403
    assert gateway.channel is ConnectionChannel.VOICE
    assert await runtime.pool.fetchval("select count(*) from messages") == 0
