"""The port `Checkout` over Stripe's wire format: sessions, refunds, disputes, notices and keys."""

from datetime import timedelta

import pytest

from openslot.domains.event_types.models import Money
from openslot.domains.payments.models import CheckoutStatus, DisputeOutcome, KeyRight, Mode, PaymentStep, RefundStatus
from openslot.domains.payments.ports import Checkout, CheckoutRefused, KeyRefused, RightMissing
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.checkout import StripeCheckout
from openslot.vendors.stripe.client import API_VERSION
from openslot.vendors.stripe.notices import PAYMENT_EVENTS
from tests.support.clocks import MONDAY, MovingClock
from tests.support.fake_stripe import Books, FakeStripe
from tests.vendors.stripe.support import (
    ENDPOINT,
    EXPIRE,
    PAYMENT,
    PRICE,
    REFUND,
    SESSION,
    WANTED,
    back,
    begin,
    open_checkout,
)

ALL_RIGHTS = (
    "checkout_session_write",
    "payment_intent_read",
    "charge_write",
    "dispute_read",
    "event_read",
    "webhook_write",
)


async def test_a_session_is_open_and_carries_our_id_in_every_place(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)

    assert session == await checkout.get_session(session.id)
    assert (session.status, session.is_paid, session.mode) == (CheckoutStatus.OPEN, False, Mode.TEST)
    assert (session.amount, session.reference) == (PRICE, str(PAYMENT))
    assert session.expires_at == MONDAY + timedelta(minutes=33)
    assert session.url == f"{books.site}/c/pay/{session.id}"
    sent = books.sent[session.id]
    assert sent["metadata"] == sent["payment_intent_data"]["metadata"] == {"openslot_payment": str(PAYMENT)}
    assert sent["allowed_payment_method_types"] == ["card"]
    assert sent["locale"] == "de"


async def test_every_request_names_the_version_and_every_post_its_key(checkout: Checkout, fake: FakeStripe) -> None:
    session = await begin(checkout)
    await checkout.expire_session(session.id, EXPIRE)
    await checkout.get_session(session.id)

    assert {each.headers["stripe-version"] for each in fake.asked} == {API_VERSION}
    assert [each.headers.get("idempotency-key") for each in fake.asked] == [
        f"openslot-{PAYMENT}-session-1",
        f"openslot-{PAYMENT}-expire-1",
        None,
    ]


@pytest.mark.parametrize(
    ("money", "counted"),
    [
        (Money(4900, "EUR"), 4900),
        (Money(5000, "JPY"), 5000),
        (Money(5000, "ISK"), 500_000),
        (Money(5120, "KWD"), 5120),
    ],
)
async def test_amounts_arrive_and_come_back(checkout: Checkout, books: Books, money: Money, counted: int) -> None:
    session = await begin(checkout, amount=money)

    assert session.amount == money
    assert books.objects[session.id]["amount_total"] == counted
    assert books.objects[session.id]["currency"] == money.currency.lower()


async def test_an_amount_that_stripe_can_not_take_is_never_sent(checkout: Checkout, fake: FakeStripe) -> None:
    with pytest.raises(CheckoutRefused) as refused:
        await begin(checkout, amount=Money(5124, "KWD"))

    assert refused.value.field == "amount"
    assert fake.asked == []


async def test_a_language_that_stripe_does_not_have_is_left_to_the_browser(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout, language="ar")

    assert books.sent[session.id]["locale"] == "auto"


async def test_a_payment_is_read_with_its_receipt_and_time(
    checkout: Checkout, books: Books, clock: MovingClock
) -> None:
    session = await begin(checkout)
    clock.pass_time(minutes=4)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)

    assert (paid.status, paid.is_paid, paid.url) == (CheckoutStatus.COMPLETE, True, None)
    assert paid.paid_at == MONDAY + timedelta(minutes=4)
    assert paid.receipt_url is not None
    assert paid.intent_id is not None
    assert await checkout.find_session(paid.intent_id) == paid
    assert await checkout.find_session("pi_other") is None


async def test_a_declined_card_leaves_the_session_open(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.decline(session.id)
    declined = await checkout.get_session(session.id)

    assert (declined.status, declined.is_paid, declined.paid_at) == (CheckoutStatus.OPEN, False, None)
    books.pay(session.id)
    assert (await checkout.get_session(session.id)).is_paid


async def test_delayed_money_is_not_paid_before_it_has_come(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.pay_later(session.id)
    waiting = await checkout.get_session(session.id)
    books.money_arrives(session.id)
    arrived = await checkout.get_session(session.id)

    assert (waiting.status, waiting.is_paid, waiting.paid_at) == (CheckoutStatus.COMPLETE, False, None)
    assert (arrived.status, arrived.is_paid) == (CheckoutStatus.COMPLETE, True)


async def test_delayed_money_that_does_not_come_is_told_from_money_on_its_way(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.decline(session.id)
    declined = await checkout.get_session(session.id)
    books.pay_later(session.id)
    waiting = await checkout.get_session(session.id)
    books.money_fails(session.id)
    failed = await checkout.get_session(session.id)

    assert [each.has_failed for each in (declined, waiting, failed)] == [False, False, True]


async def test_an_expired_session_can_not_be_paid(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    expired = await checkout.expire_session(session.id, EXPIRE)

    assert (expired.status, expired.url) == (CheckoutStatus.EXPIRED, None)
    assert await checkout.expire_session(session.id, PaymentStep(PAYMENT, "expire", 2)) == expired


async def test_expiring_what_was_just_paid_tells_so(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.pay(session.id)

    assert (await checkout.expire_session(session.id, EXPIRE)).is_paid


async def test_expiring_what_does_not_exist_is_refused(checkout: Checkout) -> None:
    with pytest.raises(CheckoutRefused) as refused:
        await checkout.expire_session("cs_test_nothing", EXPIRE)

    assert (refused.value.status, refused.value.code) == (404, "resource_missing")


async def test_refunds_are_read_with_the_session(checkout: Checkout, books: Books, clock: MovingClock) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)
    ours = await checkout.create_refund(back(paid, 1000), REFUND)
    assert paid.intent_id is not None
    clock.pass_time(seconds=1)
    theirs = books.refund(paid.intent_id, 900)
    seen = await checkout.get_session(session.id)

    assert (ours.amount, ours.status, ours.step) == (Money(1000, "EUR"), RefundStatus.SUCCEEDED, REFUND.key)
    assert [each.id for each in seen.refunds] == [ours.id, theirs["id"]]
    assert [each.step for each in seen.refunds] == [REFUND.key, None]
    assert seen.refunds[0] == ours


async def test_a_refund_can_fail_after_it_has_succeeded(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    refund = await checkout.create_refund(back(await checkout.get_session(session.id)), REFUND)
    books.fail_refund(refund.id)
    (failed,) = (await checkout.get_session(session.id)).refunds

    assert (failed.status, failed.failure, failed.status.is_lost) == (RefundStatus.FAILED, "lost_or_stolen_card", True)


async def test_no_more_is_given_back_than_was_paid(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)
    await checkout.create_refund(back(paid, 4000), REFUND)
    with pytest.raises(CheckoutRefused) as more:
        await checkout.create_refund(back(paid, 1000), PaymentStep(PAYMENT, "refund-2"))
    await checkout.create_refund(back(paid, 900), PaymentStep(PAYMENT, "refund-3"))
    with pytest.raises(CheckoutRefused) as none_left:
        await checkout.create_refund(back(paid, 1), PaymentStep(PAYMENT, "refund-4"))

    assert more.value.field == "amount"
    assert none_left.value.code == "charge_already_refunded"


@pytest.mark.parametrize(("is_won", "outcome"), [(True, DisputeOutcome.WON), (False, DisputeOutcome.LOST)])
async def test_a_dispute_is_read_with_its_outcome(
    checkout: Checkout, books: Books, is_won: bool, outcome: DisputeOutcome
) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)
    assert paid.intent_id is not None
    dispute = books.dispute(paid.intent_id, reason="product_not_received")
    (opened,) = (await checkout.get_session(session.id)).disputes
    books.close_dispute(dispute["id"], is_won=is_won)
    (closed,) = (await checkout.get_session(session.id)).disputes

    assert (opened.outcome, opened.reason, opened.amount) == (DisputeOutcome.OPEN, "product_not_received", PRICE)
    assert opened.respond_by == MONDAY + timedelta(days=7)
    assert closed.outcome is outcome


async def test_what_has_happened_is_listed_oldest_first_over_many_pages(
    checkout: Checkout, books: Books, clock: MovingClock
) -> None:
    before = await begin(checkout)
    books.pay(before.id)
    clock.pass_time(hours=1)
    since = clock()
    made = []
    for _ in range(130):
        again = {**books.sent[before.id], "expires_at": books.now + 3600}
        made.append(books.pay(books.create_session(again)["id"])["id"])
        clock.pass_time(seconds=1)
    notices = await checkout.list_notices(since=since)

    assert [each.session_id for each in notices] == made
    assert {each.type for each in notices} == {"checkout.session.completed"}
    assert notices[0].reference == str(PAYMENT)
    assert notices[0].created_at == since
    assert await checkout.list_notices(since=clock()) == []


async def test_notices_of_refunds_and_disputes_name_the_payment(checkout: Checkout, books: Books) -> None:
    session = await begin(checkout)
    books.pay(session.id)
    paid = await checkout.get_session(session.id)
    await checkout.create_refund(back(paid, 100), REFUND)
    assert paid.intent_id is not None
    books.dispute(paid.intent_id)
    notices = await checkout.list_notices(since=MONDAY)

    assert [(each.type, each.intent_id) for each in notices] == [
        ("checkout.session.completed", paid.intent_id),
        ("refund.created", paid.intent_id),
        ("charge.dispute.created", paid.intent_id),
        ("charge.dispute.funds_withdrawn", paid.intent_id),
    ]


async def test_an_endpoint_is_registered_with_a_frozen_version_and_removed(checkout: Checkout, books: Books) -> None:
    endpoint = await checkout.register_endpoint("https://openslot.example/api/notices/stripe/1", ENDPOINT)
    kept = books.objects[endpoint.id]

    assert endpoint.secret == books.secrets[endpoint.id]
    assert kept["api_version"] == API_VERSION
    assert kept["enabled_events"] == list(PAYMENT_EVENTS)
    await checkout.remove_endpoint(endpoint.id)
    await checkout.remove_endpoint(endpoint.id)
    assert endpoint.id not in books.objects


async def test_a_key_that_may_do_all_we_need_lacks_nothing_and_changes_nothing(
    fake: FakeStripe, books: Books, outbound: Outbound
) -> None:
    async with open_checkout(fake, fake.add_key(books, *ALL_RIGHTS), outbound) as restricted:
        found = await restricted.check_key()
    async with open_checkout(fake, books.key, outbound) as full:
        told = await full.check_key()

    assert (found.missing, found.mode, found.account_name) == ((), Mode.TEST, None)
    assert (told.missing, told.account_id, told.account_name) == ((), books.account_id, "Mara Lindqvist")
    assert books.objects == {}


@pytest.mark.parametrize(("lacking", "right"), list(zip(ALL_RIGHTS, KeyRight, strict=True)))
async def test_each_missing_right_is_named(
    fake: FakeStripe, books: Books, outbound: Outbound, lacking: str, right: KeyRight
) -> None:
    key = fake.add_key(books, *(each for each in ALL_RIGHTS if each != lacking))
    async with open_checkout(fake, key, outbound) as restricted:
        assert (await restricted.check_key()).missing == (right,)


async def test_a_request_without_its_right_names_the_right_and_not_the_key(
    fake: FakeStripe, books: Books, outbound: Outbound
) -> None:
    key = fake.add_key(books, "checkout_session_read")
    async with open_checkout(fake, key, outbound) as restricted:
        with pytest.raises(RightMissing) as lacking:
            await begin(restricted)

    assert lacking.value.right == "checkout_session_write"
    assert key[-6:] not in str(lacking.value)


@pytest.mark.parametrize(
    "key",
    ["", "pk_test_12345678", "sk_org_12345678", "rk_test_", "rk_test_12345678\nX: 1", "rk_test_ü2345678", "whsec_1"],
)
async def test_what_is_no_key_is_refused_before_anybody_is_asked(
    fake: FakeStripe, outbound: Outbound, key: str
) -> None:
    with pytest.raises(KeyRefused):
        StripeCheckout(outbound, url=fake.url, key=key)

    assert fake.asked == []


async def test_an_unknown_key_is_refused_without_being_told(fake: FakeStripe, outbound: Outbound) -> None:
    async with open_checkout(fake, "sk_live_123456789secret", outbound) as stranger:
        with pytest.raises(KeyRefused) as refused:
            await stranger.check_key()

    assert stranger.mode is Mode.LIVE
    assert "cret" not in str(refused.value)


async def test_accounts_and_modes_never_meet(fake: FakeStripe, checkout: Checkout, outbound: Outbound) -> None:
    session = await begin(checkout)
    live = fake.add_account(livemode=True)
    async with open_checkout(fake, live.key, outbound) as other:
        with pytest.raises(CheckoutRefused):
            await other.get_session(session.id)
        # The same key means another thing in another account.
        assert (await other.create_session(WANTED, SESSION)).mode is Mode.LIVE


def test_an_address_of_stripe_that_is_none_is_refused_at_startup() -> None:
    with pytest.raises(StartupError, match="OPENSLOT_STRIPE_URL"):
        load_settings(environ={"OPENSLOT_STRIPE_URL": "api.stripe.com"})

    assert load_settings(environ={}).stripe_url == "https://api.stripe.com"
