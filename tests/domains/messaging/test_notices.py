"""Notices of messages: verified against the public address, kept once, and refused without detail."""

import asyncio
import json
from datetime import timedelta
from uuid import uuid4

import httpx2
import pytest
from standardwebhooks import Webhook

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.work import Runtime
from openslot.vendors.twilio.signature import MAX_BYTES
from tests.support.clocks import MovingClock
from tests.support.messaging import NUMBER, PHONE, TOKEN, insert_number, message_form, notify, sid, sign, status_form

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


async def count(runtime: Runtime, table: str = "messages") -> int:
    found: int = await runtime.pool.fetchval(f"select count(*) from {table}")
    return found


async def test_a_message_is_kept_and_answered_with_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    answer = await notify(client, runtime, number, message_form(body="Could we meet later?"))

    assert (answer.status_code, answer.headers["content-type"], answer.text) == (200, "text/xml", "<Response/>")
    row = await runtime.pool.fetchrow(
        """select c.owner_id, c.contact_phone, c.channel, c.message_count, c.last_inbound_at, c.read_at, m.content,
            m.direction, m.status, m.connection_id from messages m join conversations c on c.id = m.conversation_id"""
    )
    assert row is not None
    assert (row["owner_id"], row["contact_phone"], row["channel"]) == (user.id, PHONE, "sms")
    assert (row["content"], row["direction"], row["status"]) == ("Could we meet later?", "inbound", "received")
    assert (row["message_count"], row["connection_id"], row["read_at"]) == (1, number.id, None)
    assert row["last_inbound_at"] == runtime.clock()


async def test_a_repeated_message_is_kept_once(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    answers = [await notify(client, runtime, number, message_form()) for _ in range(3)]

    assert [each.status_code for each in answers] == [200, 200, 200]
    assert await count(runtime) == 1
    assert await runtime.pool.fetchval("select message_count from conversations") == 1


async def test_forged_notices_are_refused_without_detail(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    path = f"/api/notices/twilio/{number.id}/messages"
    form = message_form()
    elsewhere = sign(f"https://elsewhere.example{path}", form)
    refused = [
        await notify(client, runtime, number, form, token="f" * 32),
        await notify(client, runtime, number, form, **{"x-twilio-signature": elsewhere}),
        await notify(client, runtime, number, form, **{"x-twilio-signature": "x" * 200}),
        await notify(client, runtime, number, {**form, "AccountSid": "AC" + "1" * 32}),
        await notify(client, runtime, number, {**form, "To": "+493099999999"}),
        await notify(client, runtime, number, {**form, "From": f"whatsapp:{PHONE}"}),
        await notify(client, runtime, number, {**form, "MessageSid": "SM1"}),
        await client.post(path, data=form),
    ]

    assert {each.status_code for each in refused} == {403}
    assert {each.text for each in refused} == {'{"error":"The notice is not valid"}'}
    assert await count(runtime) == 0


async def test_another_body_than_the_signed_one_is_refused(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    url = f"{runtime.settings.public_url}/api/notices/twilio/{number.id}/messages"
    signature = sign(url, message_form(body="Hello"))

    answer = await notify(client, runtime, number, message_form(body="C"), **{"x-twilio-signature": signature})

    assert answer.status_code == 403


@pytest.mark.rest("sends megabytes")
async def test_a_notice_that_is_too_large_is_refused(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    answer = await notify(client, runtime, number, message_form(body="x" * MAX_BYTES))

    assert answer.status_code == 413
    assert await count(runtime) == 0


async def test_unknown_and_disconnected_numbers_refuse_alike(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    await runtime.pool.execute("update messaging_connections set token = null, disconnected_at = now()")
    gone = await notify(client, runtime, number, message_form())
    path = f"/api/notices/twilio/{uuid4()}/messages"
    unknown = await client.post(path, data=message_form(), headers={"x-twilio-signature": "abc"})

    assert (gone.status_code, gone.text) == (unknown.status_code, unknown.text) == (403, gone.text)


async def test_both_tokens_verify_while_one_is_replaced(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    await runtime.pool.execute(
        "update messaging_connections set second_token = $1", runtime.secrets.seal("fedcba98" * 4)
    )

    first = await notify(client, runtime, number, message_form(1))
    second = await notify(client, runtime, number, message_form(2), token="fedcba98" * 4)

    assert (first.status_code, second.status_code) == (200, 200)
    assert await count(runtime) == 2


async def test_a_flood_of_junk_leaves_no_rows(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    for index in range(30):
        path = f"/api/notices/twilio/{uuid4()}/messages"
        answer = await client.post(path, data={"a": "b"}, headers={"x-twilio-signature": f"junk{index}"})
        assert answer.status_code == 403

    for table in ("messages", "conversations", "message_opt_outs", "message_media"):
        assert await count(runtime, table) == 0, table
    # The limit's row of this address is all that is written.
    assert await count(runtime, "rate_log") == 1


async def test_junk_without_a_signature_is_refused_without_a_look_up(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    async with runtime.pool.acquire() as connection, connection.transaction():
        # Whoever reads the table would wait for this lock.
        await connection.execute("lock messaging_connections in access exclusive mode")
        for path in (f"/api/notices/twilio/{number.id}/messages", f"/api/notices/gateway/{number.id}"):
            async with asyncio.timeout(5):
                assert (await client.post(path, data={"a": "b"})).status_code == 403


@pytest.mark.parametrize("word", ["STOP", " stop\n", "Unsubscribe", "CANCEL", "optout"])
async def test_a_word_that_ends_messages_is_recorded(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection, word: str
) -> None:
    await notify(client, runtime, number, message_form(1, word))
    row = await runtime.pool.fetchrow("select * from message_opt_outs")

    assert row is not None
    assert (row["user_id"], row["phone"], row["source"], row["vendor_id"]) == (user.id, PHONE, "message", sid(1))
    assert row["opted_in_at"] is None


@pytest.mark.parametrize("words", ["Stop texting me", "please stop", "C", "stop.", "ENDE"])
async def test_other_words_end_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection, words: str
) -> None:
    await notify(client, runtime, number, message_form(1, words))

    assert await count(runtime, "message_opt_outs") == 0


async def test_messages_are_wanted_again_and_an_old_notice_changes_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, number: MessagingConnection
) -> None:
    stop = message_form(1, "Nein danke", OptOutType="STOP")
    await notify(client, runtime, number, stop)
    clock.now += timedelta(minutes=1)
    await notify(client, runtime, number, message_form(2, "start"))
    await notify(client, runtime, number, stop)

    row = await runtime.pool.fetchrow("select opted_out_at, opted_in_at from message_opt_outs")
    assert row is not None
    assert row["opted_in_at"] == clock.now
    assert row["opted_out_at"] < clock.now


async def send(runtime: Runtime, number: MessagingConnection, user: User, status: str, vendor_id: str | None) -> str:
    """Keep a message as if it had been sent, and return its id."""
    return str(
        await runtime.pool.fetchval(
            """with thread as (
                insert into conversations
                    (id, owner_id, contact_phone, channel, last_message_at, created_at, updated_at)
                values (gen_random_uuid(), $1, $2, 'sms', $3, $3, $3) returning id)
            insert into messages (id, conversation_id, content, direction, status, vendor_id, connection_id, at,
                created_at)
            select gen_random_uuid(), id, 'See you', 'outbound', $4, $5, $6, $3, $3 from thread returning id""",
            user.id,
            PHONE,
            runtime.clock(),
            status,
            vendor_id,
            number.id,
        )
    )


@pytest.mark.parametrize(
    ("known", "told", "kept"),
    [
        ("queued", "sent", "sent"),
        ("sending", "delivered", "delivered"),
        ("unknown", "sent", "sent"),
        ("delivered", "sent", "delivered"),
        ("read", "delivered", "read"),
        ("failed", "sent", "failed"),
        ("delivered", "read", "read"),
        ("sent", "undelivered", "undelivered"),
        ("sent", "accepted", "sent"),
        ("sent", "received", "sent"),
    ],
)
async def test_a_status_counts_by_rank(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    number: MessagingConnection,
    known: str,
    told: str,
    kept: str,
) -> None:
    await send(runtime, number, user, known, sid(7))

    answer = await notify(client, runtime, number, status_form(7, told), about="status")

    assert answer.status_code == 200
    assert await runtime.pool.fetchval("select status from messages") == kept


async def test_a_status_that_names_our_message_finds_it_before_its_id_is_known(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    message_id = await send(runtime, number, user, "sending", None)

    await notify(client, runtime, number, status_form(7, "sent"), about="status", query=f"?message={message_id}")
    # Another message of the provider can't take its place.
    await notify(client, runtime, number, status_form(8, "read"), about="status", query=f"?message={message_id}")

    row = await runtime.pool.fetchrow("select status, vendor_id from messages")
    assert row is not None
    assert tuple(row.values()) == ("sent", sid(7))


async def test_a_refusal_for_an_opt_out_is_recorded(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    await send(runtime, number, user, "sent", sid(7))

    await notify(client, runtime, number, status_form(7, "failed", ErrorCode="21610"), about="status")

    assert await runtime.pool.fetchval("select error from messages") == "opted_out"
    assert await runtime.pool.fetchval("select source from message_opt_outs where phone = $1", PHONE) == "provider"


async def test_a_status_of_another_numbers_message_changes_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, number: MessagingConnection
) -> None:
    other = await insert_number(runtime, user_id=stranger.id)
    message_id = await send(runtime, number, user, "sent", sid(7))

    for query in ("", f"?message={message_id}"):
        await notify(client, runtime, other, status_form(7, "failed"), about="status", query=query)

    assert await runtime.pool.fetchval("select status from messages") == "sent"


@pytest.fixture
async def gateway(runtime: Runtime, user: User) -> MessagingConnection:
    return await insert_number(
        runtime,
        user_id=user.id,
        channel=ConnectionChannel.WHATSAPP,
        provider=ProviderName.GATEWAY,
        account="https://gateway.example",
        token=WHSEC,
    )


async def tell(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    gateway: MessagingConnection,
    body: str,
    *,
    secret: str = WHSEC,
    ago: timedelta = timedelta(),
) -> httpx2.Response:
    at = runtime.clock() - ago
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", at, body),
        "content-type": "application/json",
    }
    return await client.post(f"/api/notices/gateway/{gateway.id}", content=body, headers=headers)


TOLD = {"id": "gw-1", "channel": "whatsapp", "from": PHONE, "to": NUMBER, "body": "Hi"}
INBOUND = json.dumps({"type": "message.received", "data": TOLD})


async def test_a_gateway_sends_messages_signed_and_in_time(
    client: httpx2.AsyncClient, runtime: Runtime, gateway: MessagingConnection
) -> None:
    forged = await tell(client, runtime, gateway, INBOUND, secret="whsec_" + "A" * 32)
    late = await tell(client, runtime, gateway, INBOUND, ago=timedelta(minutes=10))
    none = await count(runtime)
    good = await tell(client, runtime, gateway, INBOUND)
    again = await tell(client, runtime, gateway, INBOUND)

    assert (forged.status_code, late.status_code, none) == (403, 403, 0)
    assert (good.status_code, again.status_code, await count(runtime)) == (200, 200, 1)
    assert await runtime.pool.fetchval("select channel from conversations") == "whatsapp"


async def test_a_token_opens_only_its_own_providers_door(
    client: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection, gateway: MessagingConnection
) -> None:
    crossed = await notify(client, runtime, gateway, message_form(), token=WHSEC)
    other = await tell(client, runtime, number, INBOUND, secret=f"whsec_{TOKEN}")

    assert (crossed.status_code, other.status_code) == (403, 403)
