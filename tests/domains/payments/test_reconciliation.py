"""Payments beside what Stripe says: agreement is silent, and every difference has its name."""

from uuid import UUID

import httpx2

from openslot.domains.event_types.models import EventType
from openslot.domains.payments.models import PaymentConnection
from openslot.domains.payments.reconciliation import Reconciliation, reconcile
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import book, book_and_pay, cancel, find, intent_of, reload, session_of, tick
from tests.support.clocks import MONDAY, MovingClock
from tests.support.fake_stripe import Books, FakeStripe

NOON, ONE, TWO = "2026-03-20T12:00:00Z", "2026-03-20T13:00:00Z", "2026-03-20T14:00:00Z"


async def compare(runtime: Runtime, host_id: UUID | None = None) -> Reconciliation:
    return await reconcile(runtime, host_id=host_id, since=MONDAY)


def named(found: Reconciliation) -> set[tuple[str, str | None, str | None]]:
    return {(each.field, each.ours, each.theirs) for each in found.differences}


async def test_what_agrees_is_silent(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    await book_and_pay(client, runtime, paid, books)
    refunded = await book_and_pay(client, runtime, paid, books, NOON)
    await cancel(runtime, refunded)
    await book(client, paid, ONE)
    await tick(runtime, clock)

    found = await compare(runtime)

    assert (found.checked, found.differences, found.unread) == (3, [], [])


async def test_what_happened_at_the_provider_alone_is_named(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    refunded = await book_and_pay(client, runtime, paid, books)
    disputed = await book_and_pay(client, runtime, paid, books, NOON)
    unheard = await find(runtime, await book(client, paid, ONE))
    made = books.refund(intent_of(refunded), 900)
    books.dispute(intent_of(disputed))
    books.pay(session_of(unheard))

    found = await compare(runtime)

    assert named(found) == {
        ("refundedAmount", "0", "900"),
        (f"refund {made['id']}", None, "succeeded"),
        ("dispute", None, "open"),
        ("state", "open", "paid"),
    }
    assert {each.payment_id for each in found.differences} == {str(refunded.id), str(disputed.id), str(unheard.id)}


async def test_what_only_we_believe_is_named(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    unpaid = await find(runtime, await book(client, paid))
    cheap = await book_and_pay(client, runtime, paid, books, NOON)
    lost = await find(runtime, await book(client, paid, ONE))
    await runtime.pool.execute("update payments set state = 'paid', paid_at = now() where id = $1", unpaid.id)
    await runtime.pool.execute("update payments set amount = 100, refunded_amount = 50 where id = $1", cheap.id)
    await runtime.pool.execute("update payments set session_id = 'cs_gone' where id = $1", lost.id)

    found = await compare(runtime)

    assert named(found) == {
        ("state", "paid", "open"),
        ("booking", "PENDING_PAYMENT", "4900 EUR"),
        ("amount", "100 EUR", "4900 EUR"),
        ("refundedAmount", "50", "0"),
        ("checkout", "cs_gone", None),
    }


async def test_money_with_our_reference_and_no_payment_is_named(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    known = await book_and_pay(client, runtime, paid, books)
    forgotten = await book_and_pay(client, runtime, paid, books, NOON)
    unpaid = await find(runtime, await book(client, paid, ONE))
    for gone in (forgotten, unpaid):
        await runtime.pool.execute("delete from payments where id = $1", gone.id)

    found = await compare(runtime)

    (difference,) = found.differences
    assert (difference.payment_id, difference.field) == (str(forgotten.id), "payment")
    assert (difference.ours, difference.theirs) == (None, forgotten.session_id)
    assert await reload(runtime, known) == known


async def test_a_provider_that_can_not_be_asked_is_named_with_what_was_not_compared(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, fake_stripe: FakeStripe
) -> None:
    await book_and_pay(client, runtime, paid, books)
    await book(client, paid, NOON)
    fake_stripe.is_down = True

    found = await compare(runtime)

    assert (found.checked, [each.payments for each in found.unread]) == (0, [2])


async def test_an_account_that_was_disconnected_is_named(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    connection: PaymentConnection,
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    await runtime.pool.execute("update payment_connections set key = null, disconnected_at = now()")

    found = await compare(runtime, payment.host_id)

    assert [(each.connection_id, each.reason) for each in found.unread] == [
        (connection.id, "The account is disconnected")
    ]
    assert (await compare(runtime, connection.id)).unread == []
