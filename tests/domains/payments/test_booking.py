"""Book and pay: a time is kept while it is paid for, confirmed by the money, and never lost to a fault."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Limits, Money
from openslot.domains.payments import operations, rules
from openslot.domains.payments.models import PaymentState
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import PRICE, TEN, body_of, book, find, reload, session_of, tick, told
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind

DAYS = {"timezone": "UTC", "startDate": "2026-03-20", "endDate": "2026-03-20"}


async def slots(client: httpx2.AsyncClient) -> list[str]:
    answer = await client.get("/api/public/mara/paid/slots", params=DAYS)
    return [slot["startTime"] for slot in answer.json()["data"]]


async def test_a_paid_time_is_kept_until_the_money_confirms_it(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, bearer: dict[str, str]
) -> None:
    answer = await book(client, paid)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert made["status"] == "PENDING_PAYMENT"
    payment = await find(runtime, answer)
    assert made["paymentUrl"] == payment.url == books.objects[session_of(payment)]["url"]

    assert TEN not in await slots(client)
    assert (await client.get(f"/api/v1/bookings/{made['bookingId']}", headers=bearer)).status_code == 404
    assert (await client.get("/api/v1/contacts", headers=bearer)).json()["data"] == []
    assert (await told(runtime, payment)).events == ()

    books.pay(session_of(payment))
    await operations.read_anew(runtime, payment.id)
    await operations.read_anew(runtime, payment.id)

    shown = (await client.get(f"/api/v1/bookings/{made['bookingId']}", headers=bearer)).json()
    assert shown["status"] == "CONFIRMED"
    assert shown["payment"] == {
        "status": "paid",
        "amount": PRICE,
        "currency": "EUR",
        "paidAt": "2026-03-16T07:00:00Z",
        "refundedAmount": 0,
    }
    assert (await told(runtime, payment)).events == ("booking.created", "payment.received")
    feed = (await client.get("/api/v1/events", params={"type": "payment.received"}, headers=bearer)).json()["data"]
    assert [each["data"] for each in feed] == [
        {**shown["payment"], "id": str(payment.id), "bookingId": made["bookingId"]}
    ]
    total, *_ = await runtime.pool.fetch("select * from revenue")
    assert (total["received"], total["refunded"], total["payments"]) == (PRICE, 0, 1)


async def test_an_unpaid_time_is_freed_after_the_checkout_was_ended(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await find(runtime, await book(client, paid))
    clock.pass_time(minutes=35)
    await tick(runtime, clock)
    assert TEN not in await slots(client)

    clock.pass_time(minutes=1)
    await tick(runtime, clock)
    assert TEN in await slots(client)
    assert books.objects[session_of(payment)]["status"] == "expired"
    assert (await told(runtime, payment)).events == ()
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED


@pytest.mark.parametrize("kind", [FaultKind.HANG_UP, FaultKind.STATUS, FaultKind.LOSE_ANSWER, FaultKind.RAW])
async def test_a_fault_of_the_provider_frees_the_time_at_once(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
    kind: FaultKind,
) -> None:
    fake_stripe.faults = [Fault(kind, "checkout/sessions", body=b"<html>" if kind is FaultKind.RAW else b"")] * 3
    refused = await book(client, paid, key="k1")
    assert (refused.status_code, refused.headers["x-error-code"]) == (503, "payment_unavailable")
    assert int(refused.headers["retry-after"]) > 0
    assert TEN in await slots(client)

    again = await book(client, paid, key="k1")
    assert again.status_code == 200, again.text
    clock.pass_time(minutes=2)
    await tick(runtime, clock)
    # What was made although its answer got lost is ended: only the second can be paid.
    open_ones = [each["url"] for each in books.list("checkout.session") if each["status"] == "open"]
    assert open_ones == [again.json()["paymentUrl"]]


async def test_a_retry_gets_the_same_place_to_pay(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    first = await book(client, paid, key="k1")
    again = await book(client, paid, key="k1")
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert len(books.list("checkout.session")) == 1

    # The process has crashed before it could ask, or before it could answer.
    await runtime.pool.execute("update payments set state = 'opening', session_id = null, url = null")
    assert (await book(client, paid, key="k1")).json() == first.json()
    assert len(books.list("checkout.session")) == 1


async def test_a_checkout_that_a_crash_has_left_is_found_and_ended(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await find(runtime, await book(client, paid))
    await runtime.pool.execute(
        "update payments set state = 'opening', session_id = null, url = null, next_read_at = $1",
        payment.created_at + rules.LEARNED_AFTER,
    )
    clock.pass_time(minutes=2)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).session_id == payment.session_id
    clock.pass_time(minutes=34)
    await tick(runtime, clock)
    assert books.objects[session_of(payment)]["status"] == "expired"
    assert TEN in await slots(client)


async def test_a_hold_becomes_the_time_that_is_paid_for(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    held = await client.post("/api/public/holds", json={"eventTypeId": str(paid.id), "startTime": TEN})
    payment = await find(runtime, await book(client, paid, holdId=held.json()["holdId"]))
    live = "select kind from claims where active and expires_at is null"
    assert [row["kind"] for row in await runtime.pool.fetch(live)] == ["payment"]
    books.pay(session_of(payment))
    await operations.read_anew(runtime, payment.id)
    assert [row["kind"] for row in await runtime.pool.fetch(live)] == ["booking"]


async def test_seats_of_a_group_are_paid_one_by_one(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books, clock: MovingClock
) -> None:
    group = await offer(runtime, user, "group", price=Money(PRICE, "EUR"), seats=2)
    one = await find(runtime, await book(client, group))
    other = await find(runtime, await book(client, group, inviteeEmail="li@wei.example"))
    assert (await book(client, group, inviteeEmail="eve@late.example")).status_code == 409
    books.pay(session_of(one))
    clock.pass_time(minutes=36)
    for payment in (one, other):
        await operations.read_anew(runtime, payment.id)
    assert [(await told(runtime, each)).status for each in (one, other)] == ["CONFIRMED", "PENDING_PAYMENT"]
    assert (await book(client, group, inviteeEmail="eve@late.example")).status_code == 200


async def test_a_pending_payment_counts_for_the_limit_of_a_day(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType
) -> None:
    rare = await offer(runtime, user, "rare", price=Money(PRICE, "EUR"), limits=Limits(per_day=1))
    assert (await book(client, rare)).status_code == 200
    assert (await book(client, rare, "2026-03-20T12:00:00Z")).status_code == 409


async def test_the_hosts_own_key_books_without_a_payment(
    client: httpx2.AsyncClient, paid: EventType, books: Books, bearer: dict[str, str]
) -> None:
    wanted = {**body_of(paid), "eventTypeSlug": "paid"}
    del wanted["eventTypeId"]
    made = await client.post("/api/v1/bookings", json=wanted, headers=bearer)
    shown = (await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)).json()
    assert (shown["status"], shown["payment"]) == ("CONFIRMED", {"status": "not_required"})
    assert books.list("checkout.session") == []


@pytest.mark.parametrize(("currency", "amount"), [("JPY", 5000), ("ISK", 5000), ("KWD", 12340)])
async def test_currencies_without_cents_are_asked_for_as_they_are(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books, currency: str, amount: int
) -> None:
    abroad = await offer(runtime, user, "abroad", price=Money(amount, currency))
    payment = await find(runtime, await book(client, abroad))
    books.pay(session_of(payment))
    settled = await operations.read_anew(runtime, payment.id)
    assert (settled.state, settled.price) == (PaymentState.PAID, Money(amount, currency))
