"""The fake behaves as Stripe is documented: time, pages for payers, notices in disorder, subscriptions."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from random import Random

import httpx2
import pytest

from openslot.domains.payments.models import CheckoutStatus
from openslot.domains.payments.ports import Checkout, CheckoutRefused
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe, StripeRefusal, billing
from tests.support.receiver import Receiver, receiving
from tests.vendors.stripe.support import ENDPOINT, EXPIRE, begin

pytestmark = pytest.mark.rest("tests a fake of a vendor")


@pytest.fixture
async def browser() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


@pytest.fixture
async def receiver(fake: FakeStripe, books: Books) -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        fake.add_endpoint(books, opened.url, "checkout.session.completed", "checkout.session.expired")
        yield opened


@pytest.mark.parametrize(
    ("ahead", "is_accepted"),
    [
        (timedelta(minutes=30), True),
        (timedelta(minutes=30, seconds=-1), False),
        (timedelta(hours=24), True),
        (timedelta(hours=24, seconds=1), False),
    ],
)
async def test_a_session_lives_for_half_an_hour_to_a_day(
    checkout: Checkout, clock: MovingClock, ahead: timedelta, is_accepted: bool
) -> None:
    if is_accepted:
        await begin(checkout, expires_at=clock() + ahead)
        return
    with pytest.raises(CheckoutRefused) as refused:
        await begin(checkout, expires_at=clock() + ahead)
    assert refused.value.field == "expires_at"
    # A fault in the parameters is not kept: the same key is free for the right ones.
    await begin(checkout)


async def test_a_session_expires_by_the_clock_and_can_not_be_paid_any_more(
    fake: FakeStripe, books: Books, checkout: Checkout, clock: MovingClock
) -> None:
    session = await begin(checkout)
    clock.pass_time(minutes=33)
    with pytest.raises(StripeRefusal):
        books.pay(session.id)

    assert (await checkout.get_session(session.id)).status is CheckoutStatus.EXPIRED
    assert [each["type"] for each in books.list("event")] == ["checkout.session.expired"]


async def test_a_payer_pays_in_a_browser(books: Books, checkout: Checkout, browser: httpx2.AsyncClient) -> None:
    session = await begin(checkout)
    assert session.url is not None
    shown = await browser.get(session.url)
    declined = await browser.post(session.url, data={"action": "decline"})
    paid = await browser.post(session.url, data={"action": "pay"})
    again = await browser.post(session.url, data={"action": "pay"})

    assert "Consultation &amp; more, 30 min" in shown.text
    assert "4900 EUR" in shown.text
    assert 'href="https://openslot.example/mara/consultation"' in shown.text
    assert "Your card was declined." in declined.text
    assert paid.status_code == 303
    assert paid.headers["location"] == f"https://openslot.example/paid/token?session={session.id}"
    assert "all done here" in again.text
    assert (await checkout.get_session(session.id)).is_paid
    assert len(books.list("charge")) == 1


async def test_a_bank_debit_finishes_the_form_without_money(checkout: Checkout, browser: httpx2.AsyncClient) -> None:
    session = await begin(checkout)
    assert session.url is not None
    await browser.post(session.url, data={"action": "later"})
    waiting = await checkout.get_session(session.id)

    assert (waiting.status, waiting.is_paid) == (CheckoutStatus.COMPLETE, False)


async def test_an_unknown_page_is_not_found(fake: FakeStripe, browser: httpx2.AsyncClient) -> None:
    for path in ("/", "/c/pay/cs_test_1", "/p/session/1"):
        assert (await browser.get(f"{fake.url}{path}")).status_code == 404


async def test_notices_reach_endpoints_that_want_them(
    fake: FakeStripe, books: Books, checkout: Checkout, receiver: Receiver
) -> None:
    session = await begin(checkout)
    books.pay(session.id)

    assert await fake.notices.deliver() == [200]
    (got,) = receiver.got
    assert got.json["data"]["object"]["id"] == session.id
    assert got.headers["stripe-signature"].startswith(f"t={books.now},v1=")
    assert fake.notices.waiting == []


async def test_a_notice_that_fails_comes_again_later(
    fake: FakeStripe, books: Books, checkout: Checkout, receiver: Receiver, clock: MovingClock
) -> None:
    receiver.answer(500)
    books.pay((await begin(checkout)).id)

    assert await fake.notices.deliver() == [500]
    assert await fake.notices.deliver() == []
    clock.pass_time(minutes=1)
    receiver.answer(200)
    assert await fake.notices.deliver() == [200]


async def test_notices_can_be_dropped_repeated_delayed_and_reordered(
    fake: FakeStripe, books: Books, checkout: Checkout, receiver: Receiver, clock: MovingClock
) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    fake.notices.drop()
    assert await fake.notices.deliver() == []
    for _ in range(4):
        books.emit("checkout.session.completed", books.objects[session.id])
    sent = [each.event["id"] for each in fake.notices.waiting]
    fake.notices.repeat()
    fake.notices.shuffle(Random(1))
    fake.notices.delay(60)
    assert await fake.notices.deliver() == []
    clock.pass_time(minutes=1)
    await fake.notices.deliver()

    got = [each.json["id"] for each in receiver.got]
    assert sorted(got) == sorted(sent * 2)
    assert got != sent * 2


async def test_notices_may_be_sent_as_soon_as_something_has_happened(
    fake: FakeStripe, checkout: Checkout, receiver: Receiver
) -> None:
    fake.sends_at_once = True
    session = await begin(checkout)
    await checkout.expire_session(session.id, EXPIRE)
    await fake.settle()

    assert [each.json["type"] for each in receiver.got] == ["checkout.session.expired"]


async def test_a_removed_endpoint_gets_nothing(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    async with receiving() as removed:
        fake.notices.reach = lambda _: removed.url
        endpoint = await checkout.register_endpoint("https://openslot.example/1", ENDPOINT)
        session = await begin(checkout)
        books.pay(session.id)
        await checkout.remove_endpoint(endpoint.id)
        await fake.notices.deliver()

        assert removed.got == []


async def test_an_endpoint_must_be_secure(checkout: Checkout) -> None:
    with pytest.raises(CheckoutRefused) as refused:
        await checkout.register_endpoint("http://openslot.example/1", ENDPOINT)

    assert refused.value.field == "url"


async def test_while_it_is_down_nobody_gets_an_answer(
    fake: FakeStripe, checkout: Checkout, browser: httpx2.AsyncClient
) -> None:
    session = await begin(checkout)
    fake.is_down = True
    assert session.url is not None
    with pytest.raises(httpx2.HTTPError):
        await browser.get(session.url)


def test_a_subscription_begins_lapses_recovers_and_ends(books: Books) -> None:
    """The states that plans follow, with their events."""
    billing.add_price(books, "price_pro", 1200)
    session = books.create_session(
        {
            "mode": "subscription",
            "line_items": [{"price": "price_pro", "quantity": 1}],
            "success_url": "https://openslot.example/",
            "subscription_data": {"metadata": {"openslot_user": "1"}},
            "customer_email": "mara@lindqvist.example",
        }
    )
    subscription = billing.subscribe(books, session["id"])
    billing.fail_renewal(books, subscription["id"])
    assert subscription["status"] == "past_due"
    billing.renew(books, subscription["id"])
    assert subscription["status"] == "active"
    billing.cancel(books, subscription["id"])

    assert subscription["metadata"] == {"openslot_user": "1"}
    assert session["subscription"] == subscription["id"]
    assert [each["type"] for each in books.list("event")] == [
        "customer.subscription.created",
        "invoice.paid",
        "checkout.session.completed",
        "invoice.payment_failed",
        "customer.subscription.updated",
        "invoice.paid",
        "customer.subscription.updated",
        "customer.subscription.deleted",
    ]


async def test_two_requests_at_once_do_not_share_an_object(checkout: Checkout, books: Books) -> None:
    sessions = await asyncio.gather(*(begin(checkout) for _ in range(5)))

    assert len({each.id for each in sessions}) == len(books.list("checkout.session")) == 1
