"""Stripe's notices: verified, kept once, and followed by reading; and everything is complete without any of them."""

import hashlib
import hmac
import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.models import PaymentConnection
from openslot.domains.payments.polling import PAYMENT_CONNECTION_JOBS
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.failing import TELL_AFTER
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from openslot.vendors.stripe.notice_api import MAX_BYTES
from tests.domains.payments.support import book, find, session_of, told
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.effects import work_off, work_until_settled
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page import read_page


@pytest.fixture
async def receiving(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    fake_stripe: FakeStripe,
    books: Books,
    connection: PaymentConnection,
) -> PaymentConnection:
    """A connection with an endpoint that was registered by hand, whose notices come in when they are delivered."""
    path = f"/api/notices/stripe/{connection.id}"
    secret = fake_stripe.add_endpoint(books, f"http://test{path}")
    sealed = runtime.secrets.seal(secret)
    await runtime.pool.execute("update payment_connections set notice_secret = $1", sealed)

    async def post(url: str, headers: dict[str, str], body: bytes) -> int:
        return (await client.post(url.removeprefix("http://test"), content=body, headers=headers)).status_code

    fake_stripe.notices.post = post
    return connection


@pytest.fixture
async def paid(runtime: Runtime, user: User, connection: PaymentConnection) -> EventType:
    return await offer(runtime, user, "paid", price=Money(4900, "EUR"))


async def tick(runtime: Runtime, clock: MovingClock) -> None:
    """Do what the worker does each minute, without what payments do by themselves."""
    for job in PAYMENT_CONNECTION_JOBS:
        await run_job(runtime, job)
    await work_off(runtime, clock)


async def count(runtime: Runtime, what: str = "true") -> int:
    counted: int = await runtime.pool.fetchval(f"select count(*) from payment_notices where {what}")
    return counted


async def test_a_notice_confirms_a_paid_booking_once_however_often_it_comes(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    fake_stripe: FakeStripe,
    books: Books,
    receiving: PaymentConnection,
    paid: EventType,
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    fake_stripe.notices.repeat()

    # The endpoint was registered for everything that happens: what is about no payment is answered, too.
    assert set(await fake_stripe.notices.deliver()) == {200}
    assert await count(runtime) == await count(runtime, "done_at is null") == 1
    await work_off(runtime, clock)
    assert await count(runtime, "done_at is null") == 0
    # The same again, and by reading: nothing is new.
    fake_stripe.notices.repeat()
    await tick(runtime, clock)

    assert (await told(runtime, payment)).status == "CONFIRMED"
    assert (await told(runtime, payment)).events == ("booking.created", "payment.received")
    effects = await runtime.pool.fetchval("select count(*) from effects where reaction = 'payments.notice'")
    assert effects == 0


async def test_a_notice_that_comes_twice_is_followed_once(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    fake_stripe: FakeStripe,
    books: Books,
    receiving: PaymentConnection,
    paid: EventType,
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    delivery = fake_stripe.notices.find("checkout.session.completed")
    path = f"/api/notices/stripe/{receiving.id}"
    for _ in range(3):
        answer = await client.post(path, content=delivery.body, headers=delivery.headers)
        assert (answer.status_code, answer.json()) == (200, {"received": True})

    assert await count(runtime) == 1
    planned = await runtime.pool.fetchval("select count(*) from effects where reaction = 'payments.notice'")
    assert planned == 1


def sign(body: bytes, *, at: int, secret: str, scheme: str = "v1") -> str:
    digest = hmac.digest(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hex()
    return f"t={at},{scheme}={digest}"


EVENT: dict[str, Any] = {
    "id": "evt_1",
    "object": "event",
    "type": "checkout.session.completed",
    "created": 1773644400,
    "livemode": False,
    "data": {"object": {"id": "cs_test_1", "object": "checkout.session"}},
}


@pytest.mark.parametrize(
    ("changes", "skew", "secret", "scheme", "status"),
    [
        ({}, 0, None, "v1", 200),
        ({}, -299, None, "v1", 200),
        ({}, 299, None, "v1", 200),
        ({}, -301, None, "v1", 400),
        ({}, 301, None, "v1", 400),
        ({}, 0, "whsec_forged", "v1", 400),
        ({}, 0, "", "v1", 400),
        ({}, 0, None, "v0", 400),
        ({"livemode": True}, 0, None, "v1", 400),
        ({"object": "v2.core.event"}, 0, None, "v1", 400),
        ({"data": None}, 0, None, "v1", 400),
        ({"id": "evt_<script>"}, 0, None, "v1", 400),
    ],
)
async def test_only_notices_of_this_account_and_of_these_minutes_are_kept(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    receiving: PaymentConnection,
    changes: dict[str, Any],
    skew: int,
    secret: str | None,
    scheme: str,
    status: int,
) -> None:
    kept = await connection_store.get_stored_connection(runtime.pool, receiving.id)
    assert kept.notice_secret is not None
    own = runtime.secrets.open(kept.notice_secret)
    body = json.dumps(EVENT | changes).encode()
    header = sign(body, at=int(clock.now.timestamp()) + skew, secret=own if secret is None else secret, scheme=scheme)
    answer = await client.post(
        f"/api/notices/stripe/{receiving.id}",
        content=body,
        headers={"stripe-signature": header, "content-type": "application/json"},
    )

    assert answer.status_code == status, answer.text
    assert await count(runtime) == (status == 200)


@pytest.mark.rest("waits for seconds")
async def test_unknown_and_disconnected_connections_answer_as_a_forgery_does(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, receiving: PaymentConnection
) -> None:
    async def post(path: str, body: bytes = b"{}", header: str = "") -> httpx2.Response:
        headers = {"content-type": "application/json"} | ({"stripe-signature": header} if header else {})
        return await client.post(f"/api/notices/stripe/{path}", content=body, headers=headers)

    forged = await post(str(receiving.id))
    unknown = await post(str(uuid4()))
    assert (forged.status_code, forged.headers["x-error-code"]) == (400, "invalid_payment_notice")
    assert (unknown.status_code, unknown.content) == (forged.status_code, forged.content)
    assert (await post("nothing")).status_code == 404
    assert (await post(str(receiving.id), b" " * (MAX_BYTES + 1))).status_code == 413

    kept = await connection_store.get_stored_connection(runtime.pool, receiving.id)
    assert kept.notice_secret is not None
    body, secret = json.dumps(EVENT).encode(), runtime.secrets.open(kept.notice_secret)
    header = sign(body, at=int(clock.now.timestamp()), secret=secret)
    await runtime.pool.execute("update payment_connections set key = null, disconnected_at = now()")
    assert (await post(str(receiving.id), body, header)).status_code == 400
    assert await count(runtime) == 0


async def test_one_of_several_signatures_is_enough(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, receiving: PaymentConnection
) -> None:
    kept = await connection_store.get_stored_connection(runtime.pool, receiving.id)
    assert kept.notice_secret is not None
    body, at = json.dumps(EVENT).encode(), int(clock.now.timestamp())
    right = sign(body, at=at, secret=runtime.secrets.open(kept.notice_secret)).partition(",")[2]
    header = f"{sign(body, at=at, secret='whsec_rolled')},v0=00,{right}"
    headers = {"stripe-signature": header, "content-type": "application/json"}

    assert (await client.post(f"/api/notices/stripe/{receiving.id}", content=body, headers=headers)).status_code == 200


async def test_reading_alone_completes_everything_within_a_minute(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    fake_stripe: FakeStripe,
    books: Books,
    connection: PaymentConnection,
    paid: EventType,
) -> None:
    payment = await find(runtime, await book(client, paid))
    await tick(runtime, clock)
    clock.pass_time(minutes=1)
    books.pay(session_of(payment))
    fake_stripe.notices.drop()
    clock.pass_time(minutes=1)
    await tick(runtime, clock)
    assert (await told(runtime, payment)).events == ("booking.created", "payment.received")

    clock.pass_time(days=40)
    found = await find_again(runtime, payment.booking_id)
    books.refund(found, 1900)
    clock.pass_time(minutes=1)
    await tick(runtime, clock)
    assert json.loads(str(await payment_of(runtime, payment.booking_id)))["refundedAmount"] == 1900
    read = await connection_store.get_stored_connection(runtime.pool, connection.id)
    assert read.last_read_at == clock.now
    assert await count(runtime, "done_at is null") == 0


async def find_again(runtime: Runtime, booking_id: object) -> str:
    intent: str = await runtime.pool.fetchval("select intent_id from payments where booking_id = $1", booking_id)
    return intent


async def payment_of(runtime: Runtime, booking_id: object) -> object:
    return await runtime.pool.fetchval("select payment::text from bookings where id = $1", booking_id)


async def test_what_appears_late_in_the_list_is_not_missed(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    books: Books,
    connection: PaymentConnection,
    paid: EventType,
) -> None:
    first, second = [await find(runtime, await book(client, paid, f"2026-03-20T1{hour}:00:00Z")) for hour in (0, 1)]
    books.pay(session_of(first))
    late = list(books.list("event"))
    clock.pass_time(minutes=3)
    books.pay(session_of(second))
    hidden = {each["id"]: books.objects.pop(each["id"]) for each in late}
    await tick(runtime, clock)
    assert (await told(runtime, first)).status == "PENDING_PAYMENT"
    assert (await told(runtime, second)).status == "CONFIRMED"

    books.objects.update(hidden)
    clock.pass_time(minutes=1)
    await tick(runtime, clock)
    assert (await told(runtime, first)).status == "CONFIRMED"


async def test_a_notice_about_an_unknown_payment_is_kept_and_tried_later(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    books: Books,
    fake_stripe: FakeStripe,
    receiving: PaymentConnection,
    paid: EventType,
) -> None:
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    await runtime.pool.execute("update payments set connection_id = null")
    await fake_stripe.notices.deliver()
    await work_off(runtime, clock)
    assert await count(runtime, "done_at is null") == 1

    await runtime.pool.execute("update payments set connection_id = $1", receiving.id)
    clock.pass_time(minutes=2)
    await work_off(runtime, clock)
    assert await count(runtime, "done_at is null") == 0
    assert (await told(runtime, payment)).status == "CONFIRMED"


async def test_what_others_sell_through_the_same_account_is_left_alone(
    runtime: Runtime, clock: MovingClock, books: Books, receiving: PaymentConnection
) -> None:
    rows = [
        (receiving.id, "evt_theirs", None, "pi_theirs", None),
        (receiving.id, "evt_gone", "cs_gone", None, str(uuid4())),
    ]
    for row in rows:
        await runtime.pool.execute(
            """insert into payment_notices
                (connection_id, id, type, created_at, received_at, session_id, intent_id, reference)
            values ($1, $2, 'refund.created', now(), now(), $3, $4, $5)""",
            *row,
        )
        async with runtime.transaction(SYSTEM) as work:
            await work.plan(
                "payments.notice",
                row[1],
                due_at=clock.now,
                payload={"connection_id": receiving.id, "id": row[1]},
                target=str(receiving.id),
            )
    await work_off(runtime, clock)
    assert await count(runtime, "done_at is null") == 1
    await work_until_settled(runtime, clock)
    assert await count(runtime, "done_at is null") == 0
    assert await runtime.pool.fetchval("select count(*) from effects where state = 'dead'") == 0


async def test_an_owner_whose_key_is_refused_is_told_once_and_reads_it_on_the_first_screen(
    client: httpx2.AsyncClient,
    member: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    books: Books,
    fake_stripe: FakeStripe,
    connection: PaymentConnection,
    paid: EventType,
) -> None:
    await book(client, paid)
    kept = fake_stripe.api.keys.pop(books.key)
    for _ in range(3):
        clock.pass_time(minutes=1)
        await tick(runtime, clock)

    broken = await connection_store.get_stored_connection(runtime.pool, connection.id)
    assert broken.last_error == "payments.refused"
    told_of = "select count(*) from mail_messages where subject = 'Openslot can''t read your payments'"
    assert await runtime.pool.fetchval(told_of) == 1
    assert "Payments can't be read from Stripe" in read_page(await member.get("/")).text
    assert "Stripe refuses the key" in read_page(await member.get("/settings/payments")).text

    fake_stripe.api.keys[books.key] = kept
    clock.pass_time(minutes=1)
    await tick(runtime, clock)
    mended = await connection_store.get_stored_connection(runtime.pool, connection.id)
    assert (mended.last_error, mended.told_at) == (None, None)
    assert "Payments can't be read from Stripe" not in read_page(await member.get("/")).text


@pytest.mark.rest("waits for seconds")
async def test_a_stripe_that_is_down_is_told_only_after_hours(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    clock: MovingClock,
    fake_stripe: FakeStripe,
    connection: PaymentConnection,
    paid: EventType,
) -> None:
    await book(client, paid)
    fake_stripe.is_down = True
    await tick(runtime, clock)
    down = await connection_store.get_stored_connection(runtime.pool, connection.id)
    assert (down.last_error, down.told_at) == ("payments.unreachable", None)
    clock.pass_time(seconds=TELL_AFTER.total_seconds())
    await tick(runtime, clock)
    assert (await connection_store.get_stored_connection(runtime.pool, connection.id)).told_at == clock.now


async def test_old_notices_are_deleted_when_they_were_followed(
    runtime: Runtime, clock: MovingClock, connection: PaymentConnection
) -> None:
    for number, done in enumerate((None, clock.now)):
        await runtime.pool.execute(
            """insert into payment_notices (connection_id, id, type, created_at, received_at, done_at)
            values ($1, $2, 'refund.created', $3, $3, $4)""",
            connection.id,
            f"evt_{number}",
            clock.now,
            done,
        )
    clock.pass_time(days=41)
    await tick(runtime, clock)

    assert await count(runtime) == await count(runtime, "done_at is null") == 1
