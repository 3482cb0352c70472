"""Stripe down, slow, throttled or confused: what is tried again, what is told, and that nothing happens twice."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.payments.models import PaymentStep
from openslot.domains.payments.ports import (
    AnswerUnreadable,
    Checkout,
    CheckoutBusy,
    CheckoutFault,
    CheckoutRefused,
    CheckoutUnavailable,
    PaymentDeclined,
)
from openslot.platform.core.outbound import FailureKind, Outbound, OutboundFailed, RequestLimits
from openslot.vendors.stripe import client
from openslot.vendors.stripe.checkout import StripeCheckout
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe, Fault, FaultKind
from tests.vendors.stripe.support import PAYMENT, REFUND, SESSION, WANTED, back, begin, open_checkout


def show_session(**told: Any) -> bytes:
    return json.dumps({"id": "cs_test_1", "created": 1, "expires_at": 2, "payment_status": "unpaid", **told}).encode()


def error(**told: Any) -> bytes:
    return json.dumps({"error": told}).encode()


async def test_a_lost_answer_is_asked_for_again_with_the_same_key(
    fake: FakeStripe, books: Books, checkout: Checkout
) -> None:
    fake.faults = [Fault(FaultKind.LOSE_ANSWER)]
    session = await begin(checkout)

    assert len({each.headers["idempotency-key"] for each in fake.asked}) == 1
    assert len(fake.asked) == 2
    assert [each["id"] for each in books.list("checkout.session")] == [session.id]


async def test_a_lost_refund_is_not_made_twice(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)
    fake.faults = [Fault(FaultKind.LOSE_ANSWER, "refunds"), Fault(FaultKind.HANG_UP, "refunds")]
    refund = await checkout.create_refund(back(paid, 100), REFUND)

    assert [each["id"] for each in books.list("refund")] == [refund.id]


@pytest.mark.parametrize(
    ("fault", "tries"),
    [
        (Fault(FaultKind.STATUS, status=500), 2),
        (Fault(FaultKind.STATUS, status=503), 2),
        (Fault(FaultKind.STATUS, status=409), 2),
        (Fault(FaultKind.STATUS, status=429), 2),
        (Fault(FaultKind.STATUS, status=429, headers={"Retry-After": "3"}), 2),
        (Fault(FaultKind.STATUS, status=400, headers={"Stripe-Should-Retry": "true"}), 2),
        (Fault(FaultKind.STATUS, status=500, headers={"Stripe-Should-Retry": "false"}), 1),
        (Fault(FaultKind.STATUS, status=409, headers={"Stripe-Should-Retry": "false"}), 1),
        (Fault(FaultKind.STATUS, status=429, headers={"Retry-After": "10"}), 1),
        (Fault(FaultKind.STATUS, status=400), 1),
        (Fault(FaultKind.STATUS, status=402), 1),
        (Fault(FaultKind.HANG_UP), 2),
    ],
    ids=lambda value: f"{value.status} {value.headers}" if isinstance(value, Fault) else str(value),
)
async def test_stripes_advice_decides_what_is_tried_again(
    fake: FakeStripe, checkout: Checkout, fault: Fault, tries: int
) -> None:
    fake.faults = [fault]
    if tries == 1:
        with pytest.raises((CheckoutUnavailable, CheckoutRefused, CheckoutBusy)):
            await begin(checkout)
    else:
        await begin(checkout)

    assert len(fake.asked) == tries


async def test_it_gives_up_after_three_tries_and_waits_longer_each_time(
    fake: FakeStripe, books: Books, outbound: Outbound
) -> None:
    fake.is_down = True
    naps: list[float] = []
    async with open_checkout(fake, books.key, outbound, naps=naps) as checkout:
        with pytest.raises(CheckoutUnavailable) as gone:
            await begin(checkout)

    assert gone.value.may_have_happened
    assert not gone.value.needs_new_attempt
    first, second = naps
    assert 0.25 <= first <= 0.5 <= second <= 1.0


async def test_who_never_answered_did_nothing(outbound: Outbound) -> None:
    closed = StripeCheckout(
        outbound, url="http://127.0.0.1:9", key="rk_test_12345678", sleep=lambda _: asyncio.sleep(0)
    )
    with pytest.raises(CheckoutUnavailable) as gone:
        await begin(closed)
    await closed.close()

    assert not gone.value.may_have_happened


async def test_what_may_have_happened_at_the_first_try_is_not_forgotten(
    outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = iter([FailureKind.PROTOCOL, FailureKind.CONNECT, FailureKind.CONNECT])

    async def fail(*_: object, **__: object) -> httpx2.Response:
        raise OutboundFailed(next(kinds), "no answer")

    client_of_key = client.StripeClient(
        outbound, url="https://api.stripe.com", key="rk_test_12345678", sleep=lambda _: asyncio.sleep(0)
    )
    monkeypatch.setattr(client_of_key._client, "request", fail)
    with pytest.raises(CheckoutUnavailable) as gone:
        await client_of_key.post("refunds", object, key="one")
    await client_of_key.close()

    assert list(kinds) == []
    assert gone.value.may_have_happened


async def test_an_address_that_is_not_allowed_is_not_called(fake: FakeStripe, books: Books) -> None:
    strict = Outbound()
    async with open_checkout(fake, books.key, strict) as checkout:
        with pytest.raises(CheckoutUnavailable):
            await begin(checkout)
    await strict.close()

    assert fake.asked == []


async def test_too_many_requests_tell_how_long_to_wait(fake: FakeStripe, checkout: Checkout) -> None:
    fake.faults = [Fault(FaultKind.STATUS, status=429, headers={"Retry-After": "60"})]
    with pytest.raises(CheckoutBusy) as busy:
        await begin(checkout)

    assert busy.value.after == timedelta(seconds=60)


async def test_a_kept_fault_needs_a_new_attempt(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    fake.faults = [Fault(FaultKind.KEPT_STATUS, status=500)]
    with pytest.raises(CheckoutUnavailable) as kept:
        await begin(checkout)
    second = await checkout.create_session(WANTED, PaymentStep(PAYMENT, "session", 2))

    assert kept.value.needs_new_attempt
    assert second.id == books.list("checkout.session")[-1]["id"]


async def test_the_same_key_with_another_amount_is_refused(checkout: Checkout) -> None:
    await begin(checkout)
    with pytest.raises(CheckoutRefused) as refused:
        await checkout.create_session(replace(WANTED, title="Another"), SESSION)

    assert refused.value.code == "idempotency_error"


async def test_two_at_once_make_one_session(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    release = asyncio.Event()
    fake.faults = [Fault(FaultKind.HOLD, release=release)]
    first = asyncio.ensure_future(begin(checkout))
    while not fake.asked:
        await asyncio.sleep(0)
    with pytest.raises(CheckoutUnavailable) as conflict:
        await begin(checkout)
    release.set()

    made = await first

    assert conflict.value.may_have_happened
    assert await begin(checkout) == made
    assert [each["id"] for each in books.list("checkout.session")] == [made.id]


async def test_who_never_answers_is_given_up(
    fake: FakeStripe, books: Books, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LIMITS", RequestLimits(within=timedelta(seconds=0.05)))
    fake.faults = [Fault(FaultKind.STALL)] * 3
    async with open_checkout(fake, books.key, outbound) as checkout:
        with pytest.raises(CheckoutUnavailable) as slow:
            await begin(checkout)

    assert slow.value.may_have_happened


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>"),
        (200, b"\xff\xfe"),
        (200, b"[]"),
        (200, b'{"id": "cs_1"}'),
        (200, show_session(livemode=True, status="open")),
        (200, show_session(livemode=False, status="new word")),
        (404, b"not here"),
        (302, b"elsewhere"),
        (200, b" " * (8 * 1024 * 1024 + 1)),
    ],
    ids=["html", "bytes", "list", "short", "other mode", "unknown status", "404", "redirect", "huge"],
)
async def test_an_answer_that_is_none_is_told_as_such(
    fake: FakeStripe, checkout: Checkout, status: int, body: bytes
) -> None:
    fake.faults = [Fault(FaultKind.RAW, status=status, body=body, headers={"Location": "http://127.0.0.1:1/"})]
    with pytest.raises(AnswerUnreadable):
        await checkout.get_session("cs_test_1")

    assert len(fake.asked) == 1


async def test_a_declined_card_has_a_class_of_its_own(fake: FakeStripe, checkout: Checkout) -> None:
    body = error(type="card_error", code="card_declined", decline_code="insufficient_funds", message="Declined.")
    fake.faults = [Fault(FaultKind.RAW, status=402, body=body)]
    with pytest.raises(PaymentDeclined) as declined:
        await begin(checkout)

    assert declined.value.code == "insufficient_funds"


async def test_messages_of_stripe_lose_every_key(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    said = f"The key {books.key} and rk_test_*****abc and whsec_abc are wrong. " + "x" * 1000
    fake.faults = [Fault(FaultKind.RAW, status=400, body=error(type="invalid_request_error", message=said, param="a"))]
    with pytest.raises(CheckoutRefused) as refused:
        await begin(checkout)

    told = str(refused.value)
    assert told.startswith("The key … and … and … are wrong.")
    assert len(told) <= 300
    assert refused.value.field == "a"


async def test_no_fault_tells_the_key(fake: FakeStripe, books: Books, checkout: Checkout) -> None:
    faults = [Fault(FaultKind.STATUS, status=status) for status in (400, 401, 402, 403, 404, 418)]
    for fault in faults:
        fake.faults = [fault]
        with pytest.raises(CheckoutFault) as raised:
            await begin(checkout)
        chain: BaseException | None = raised.value
        while chain is not None:
            assert books.key not in f"{chain!r} {chain.__dict__}"
            chain = chain.__cause__ or chain.__context__


async def test_after_a_day_a_key_is_a_new_one(books: Books, checkout: Checkout, clock: MovingClock) -> None:
    first = await begin(checkout)
    again = await begin(checkout)
    clock.pass_time(hours=24)
    later = await begin(checkout, expires_at=clock() + timedelta(minutes=33))

    assert first.id == again.id != later.id
