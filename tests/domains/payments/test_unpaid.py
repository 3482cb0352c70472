"""Bookings that can't be paid for, or were not: the host is told of a price, and nothing stays behind."""

from datetime import timedelta
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.errors import EventTypeInUse
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import polling, store
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.jobs import AT_ONCE, read_due
from openslot.domains.payments.models import ConnectionEnding, PaymentConnection, PaymentState
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import (
    TEN,
    book,
    book_and_pay,
    find,
    intent_of,
    money,
    reload,
    session_of,
    tick,
    told,
)
from tests.doors.web.event_types.conftest import offer
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe

ELEVEN, NOON = "2026-03-20T11:00:00Z", "2026-03-20T12:00:00Z"


async def test_a_price_that_stripe_refuses_is_told_to_the_host_once_and_to_each_invitee(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    await _set_price(runtime, paid, 49)
    for start in (TEN, ELEVEN):
        refused = await book(client, paid, start)
        assert (refused.status_code, refused.headers["x-error-code"]) == (503, "payment_unavailable")
        assert "refuses the price" in refused.text
    assert await _count_told(runtime) == 1
    assert await _list_problems(runtime) == ["checkout_refused"]

    await _set_price(runtime, paid, 50)
    assert (await book(client, paid, NOON)).status_code == 200
    assert await _list_problems(runtime) == []


async def _set_price(runtime: Runtime, event_type: EventType, amount: int) -> None:
    """Set a price as it was possible before, or as Stripe's own rules may change."""
    price = f'{{"amount": {amount}, "currency": "EUR"}}'
    await runtime.pool.execute("update event_types set price = $1 where id = $2", price, event_type.id)


async def _count_told(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from events where type = 'payment.needs_attention'"))


async def _list_problems(runtime: Runtime) -> list[str]:
    return [row["problem"] for row in await runtime.pool.fetch("select unnest(problems) as problem from payments")]


@pytest.mark.parametrize(("duration", "taken"), [(60, None), (15, None), (60, "2026-03-20T10:30:00Z")])
async def test_late_money_is_honoured_for_as_long_as_was_booked(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    paid: EventType,
    books: Books,
    fake_stripe: FakeStripe,
    clock: MovingClock,
    duration: int,
    taken: str | None,
) -> None:
    """The event type is longer or shorter by now: the invitee has paid for half an hour."""
    payment = await find(runtime, await book(client, paid))
    books.pay(session_of(payment))
    fake_stripe.is_down = True
    clock.pass_time(hours=26)
    await tick(runtime, clock)
    assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    fake_stripe.is_down = False
    await runtime.pool.execute("update event_types set duration_minutes = $1 where id = $2", duration, paid.id)
    if taken is not None:
        other = await offer(runtime, user, "other")
        assert (await book(client, other, taken)).status_code == 200
    clock.pass_time(hours=1)
    await tick(runtime, clock)
    assert (await told(runtime, payment)).status == "CONFIRMED"
    row = await runtime.pool.fetchrow(
        """select b.ends_at - b.starts_at as lasts, k.ends_at - k.starts_at as taken
        from bookings b join claims k on k.id = b.claim_id where b.id = $1""",
        payment.booking_id,
    )
    assert row is not None
    assert (row["lasts"], row["taken"]) == (timedelta(minutes=30), timedelta(minutes=30))


async def test_nothing_stays_of_what_nobody_paid_for(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, clock: MovingClock
) -> None:
    group = await offer(runtime, user, "group", price=paid.price, seats=2)
    await book(client, paid)
    await book(client, group, NOON)
    clock.pass_time(minutes=40)
    await tick(runtime, clock)
    clock.pass_time(days=30)
    await tick(runtime, clock)
    for table in ("bookings", "claim_seats"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0, table
    assert await runtime.pool.fetchval("select count(*) from claims where kind <> 'session'") == 0


async def test_an_unpaid_booking_does_not_keep_its_event_type(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await find(runtime, await book(client, paid))
    with pytest.raises(EventTypeInUse):
        await _delete(runtime, paid)
    clock.pass_time(minutes=40)
    await tick(runtime, clock)
    assert books.objects[session_of(payment)]["status"] == "expired"
    await _delete(runtime, paid)
    assert await runtime.pool.fetchval("select count(*) from payments") == 0


async def test_a_paid_booking_keeps_its_event_type(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    await book_and_pay(client, runtime, paid, books)
    with pytest.raises(EventTypeInUse):
        await _delete(runtime, paid)


async def _delete(runtime: Runtime, event_type: EventType) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.delete_event_type(work, event_type)


async def test_payments_of_one_account_do_not_keep_others_from_being_read(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, connection: PaymentConnection, clock: MovingClock
) -> None:
    payment = await find(runtime, await book(client, paid))
    slow = [await _add_due(runtime, payment.id, clock) for _ in range(3)]
    await runtime.pool.execute("update payments set next_read_at = $2 where id = $1", payment.id, clock.now)
    due = await store.list_due(runtime.pool, now=clock.now, limit=2)
    assert payment.id in [each.id for each in due]

    # What a worker was asked to read takes no place.
    await read_due(runtime.work(SYSTEM))
    assert await store.list_due(runtime.pool, now=clock.now, limit=AT_ONCE) == []
    assert len(slow) == 3


async def test_a_checkout_that_can_not_be_ended_does_not_keep_the_others_open(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    connection: PaymentConnection,
    books: Books,
    clock: MovingClock,
) -> None:
    """What was paid and refunded in part goes back, and what is open is ended, though one of them is gone."""
    unpaid = await find(runtime, await book(client, paid))
    half = await book_and_pay(client, runtime, paid, books, ELEVEN)
    books.refund(intent_of(half), 900)
    assert connection.key is not None
    ending = ConnectionEnding(
        id=new_id(),
        behalf_of=connection.owner_id,
        key=connection.key,
        endpoint_id=None,
        sessions=("cs_test_gone", session_of(half), session_of(unpaid)),
        ended_at=clock.now,
    )
    await connection_store.insert_ending(runtime.pool, ending)
    await polling.finish_endings(runtime.work(SYSTEM))
    assert books.objects[session_of(unpaid)]["status"] == "expired"
    assert money(books) == 0
    assert await connection_store.list_endings(runtime.pool, limit=1) == []


async def _add_due(runtime: Runtime, like: UUID, clock: MovingClock) -> UUID:
    """Add a payment of another account that should have been read long ago."""
    added, booking = new_id(), new_id()
    names = [row["column_name"] for row in await runtime.pool.fetch(COLUMNS, "bookings")]
    own = ", ".join(names)
    given = ", ".join("$1::uuid" if name == "id" else name for name in names)
    await runtime.pool.execute(f"insert into bookings ({own}) select {given} from bookings limit 1", booking)
    names = [row["column_name"] for row in await runtime.pool.fetch(COLUMNS, "payments")]
    changes = {
        "id": "$1::uuid",
        "booking_id": "$2::uuid",
        "connection_id": "null",
        "session_id": "null",
        "next_read_at": "$3::timestamptz",
    }
    given = ", ".join(changes.get(name, name) for name in names)
    statement = f"insert into payments ({', '.join(names)}) select {given} from payments where id = $4"
    await runtime.pool.execute(statement, added, booking, clock.now - timedelta(hours=1), like)
    return added


COLUMNS = """select column_name from information_schema.columns
    where table_name = $1 and is_generated = 'NEVER' order by ordinal_position"""
