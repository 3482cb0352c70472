"""What waits for its payment is read and cancelled by its manage link, as what is booked is."""

import httpx2

from openslot.domains.event_types.models import EventType
from openslot.domains.payments.models import PaymentState
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import PRICE, TEN, book, find, refunds, reload, session_of, tick, told
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe


def link_of(booked: httpx2.Response) -> str:
    return f"/api/public/manage/{booked.json()['manageUrl'].rpartition('/')[2]}"


async def test_cancelling_what_waits_for_its_payment_gives_the_time_and_the_checkout_up(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    booked = await book(client, paid)
    payment, link = await find(runtime, booked), link_of(booked)
    shown = (await client.get(link)).json()
    assert (shown["status"], shown["canChange"]) == ("PENDING_PAYMENT", True)

    for _ in range(2):
        cancelled = await client.post(f"{link}/cancel", json={"reason": "Ill"})
        assert (cancelled.status_code, cancelled.json()) == (200, {"success": True})
        assert books.objects[session_of(payment)]["status"] == "expired"
        assert (await reload(runtime, payment)).state is PaymentState.RELEASED
    shown = (await client.get(link)).json()
    assert (shown["status"], shown["canChange"]) == ("CANCELLED", False)
    assert (await book(client, paid)).status_code == 200


async def test_what_was_paid_a_moment_before_is_cancelled_as_what_is_booked(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    booked = await book(client, paid)
    payment = await find(runtime, booked)
    books.pay(session_of(payment))

    assert (await client.post(f"{link_of(booked)}/cancel")).status_code == 200
    assert (await told(runtime, payment)).events[-1] == "booking.cancelled"
    await tick(runtime, clock)
    assert [each.amount for each in await refunds(runtime, payment)] == [PRICE]


async def test_money_on_its_way_can_not_be_stopped(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    booked = await book(client, paid)
    payment = await find(runtime, booked)
    books.pay_later(session_of(payment))

    refused = await client.post(f"{link_of(booked)}/cancel")
    assert (refused.status_code, refused.headers["x-error-code"]) == (409, "payment_processing")
    assert (await reload(runtime, payment)).state is PaymentState.PROCESSING


async def test_without_an_answer_of_the_provider_the_time_is_kept_and_this_is_said(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, fake_stripe: FakeStripe
) -> None:
    booked = await book(client, paid)
    fake_stripe.is_down = True

    refused = await client.post(f"{link_of(booked)}/cancel")
    assert (refused.status_code, refused.headers["x-error-code"]) == (503, "payment_unavailable")
    assert (await reload(runtime, await find(runtime, booked))).state is PaymentState.OPEN


async def test_what_waits_for_its_payment_can_not_be_moved(client: httpx2.AsyncClient, paid: EventType) -> None:
    link = link_of(await book(client, paid))

    refused = await client.post(f"{link}/reschedule", json={"newStartTime": TEN})
    assert (refused.status_code, refused.headers["x-error-code"]) == (409, "booking_not_confirmed")
