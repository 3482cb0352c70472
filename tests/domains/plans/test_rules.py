"""The decider of subscriptions: what Stripe has now decides, and what was stored only says since when it is unpaid."""

from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from openslot.domains.accounts.plans import Plan, running
from openslot.domains.payments.models import CheckoutStatus, Mode
from openslot.domains.plans.models import PlanCheckout, PlanPrices, Subscriber, Subscription, SubscriptionStatus
from openslot.domains.plans.rules import choose, decide, find_grant
from tests.support.clocks import MONDAY

DAY = timedelta(days=1)
PRICES = PlanPrices(by_plan={Plan.PRO: "price_pro", Plan.BUSINESS: "price_business"}, grace=7 * DAY)
NOBODY = Subscriber(id=UUID(int=1), user_id=UUID(int=2), mode=Mode.TEST, created_at=MONDAY, updated_at=MONDAY)
ACTIVE = Subscription(
    id="sub_1",
    mode=Mode.TEST,
    customer_id="cus_1",
    status=SubscriptionStatus.ACTIVE,
    price_id="price_pro",
    period_start=MONDAY,
    period_end=MONDAY + 30 * DAY,
    created_at=MONDAY,
)
PAST_DUE = replace(ACTIVE, status=SubscriptionStatus.PAST_DUE)


def settle(stored: Subscriber, *found: Subscription, at: datetime = MONDAY) -> Subscriber:
    return decide(stored, found, None, PRICES, now=at).subscriber


def plan_at(subscriber: Subscriber, at: datetime) -> Plan:
    return running(*find_grant(subscriber), now=at)


@pytest.mark.parametrize("status", SubscriptionStatus)
def test_the_table_of_statuses(status: SubscriptionStatus) -> None:
    is_on = status in {SubscriptionStatus.ACTIVE, SubscriptionStatus.TRIALING, SubscriptionStatus.PAST_DUE}
    assert plan_at(settle(NOBODY, replace(ACTIVE, status=status)), MONDAY) is (Plan.PRO if is_on else Plan.FREE)


@pytest.mark.parametrize(
    ("paid_until", "period_start", "begins"),
    [
        (None, MONDAY - 20 * DAY, MONDAY),  # seen unpaid for the first time
        (MONDAY + 9 * DAY, MONDAY - 21 * DAY, MONDAY),  # a change within a period was not paid
        (MONDAY - 2 * DAY, MONDAY - 2 * DAY, MONDAY - 2 * DAY),  # the renewal failed, and the period has moved on
        (MONDAY - 2 * DAY, MONDAY - 32 * DAY, MONDAY - 2 * DAY),  # the renewal failed, and it has not
        (MONDAY - 40 * DAY, MONDAY - 5 * DAY, MONDAY - 5 * DAY),  # a renewal in between was never read
    ],
)
def test_the_grace_begins_when_the_money_is_missing(
    paid_until: datetime | None, period_start: datetime, begins: datetime
) -> None:
    stored = replace(NOBODY, subscription_id="sub_1", paid_until=paid_until)
    settled = settle(stored, replace(PAST_DUE, period_start=period_start, period_end=period_start + 30 * DAY))
    assert settled.grace_until == settled.plan_until == begins + 7 * DAY


def test_a_grace_that_has_begun_is_not_begun_again() -> None:
    first = settle(settle(NOBODY, ACTIVE), PAST_DUE, at=MONDAY + 30 * DAY)
    again = settle(first, replace(PAST_DUE, period_start=MONDAY + 30 * DAY), at=MONDAY + 36 * DAY)
    assert again.grace_until == first.grace_until
    assert plan_at(again, MONDAY + 37 * DAY) is Plan.FREE


def test_without_a_grace_a_renewal_still_has_an_hour() -> None:
    strict = replace(PRICES, grace=timedelta(0))
    settled = decide(NOBODY, [ACTIVE], None, strict, now=MONDAY).subscriber
    assert plan_at(settled, ACTIVE.period_end + timedelta(minutes=59)) is Plan.PRO
    assert plan_at(settled, ACTIVE.period_end + timedelta(hours=1)) is Plan.FREE


def test_a_plan_that_was_changed_to_outlives_its_price() -> None:
    bought = replace(ACTIVE, bought_plan="PRO")
    changed = replace(bought, price_id="price_business")
    known = settle(settle(NOBODY, bought), changed)
    dearer = replace(PRICES, by_plan={Plan.PRO: "price_pro", Plan.BUSINESS: "price_business_2027"})
    assert decide(known, [changed], None, dearer, now=MONDAY).subscriber.plan is Plan.BUSINESS
    assert decide(NOBODY, [changed], None, dearer, now=MONDAY).subscriber.plan is Plan.PRO


def test_a_checkout_that_is_over_is_forgotten_and_an_open_one_kept() -> None:
    stored = replace(NOBODY, session_id="cs_1", session_url="https://x", session_expires_at=MONDAY + DAY)
    checkout = PlanCheckout(id="cs_1", mode=Mode.TEST, status=CheckoutStatus.OPEN)
    assert decide(stored, [], checkout, PRICES, now=MONDAY).subscriber.session_id == "cs_1"
    over = replace(checkout, status=CheckoutStatus.EXPIRED)
    settled = decide(stored, [], over, PRICES, now=MONDAY).subscriber
    assert (settled.session_id, settled.next_read_at, settled.status) == (None, None, None)


def test_of_two_the_known_one_stays_and_an_unpaid_one_goes() -> None:
    second = replace(ACTIVE, id="sub_2", created_at=MONDAY - DAY)
    known = replace(NOBODY, subscription_id="sub_1")
    decision = decide(known, [second, ACTIVE], None, PRICES, now=MONDAY)
    assert (decision.subscriber.subscription_id, decision.second) == ("sub_1", second)
    unpaid = replace(ACTIVE, status=SubscriptionStatus.UNPAID)
    decision = decide(known, [unpaid, second], None, PRICES, now=MONDAY)
    assert (decision.subscriber.subscription_id, decision.second) == ("sub_2", unpaid)


subscriptions = st.lists(
    st.builds(
        lambda number, status, days: replace(ACTIVE, id=f"sub_{number}", status=status, created_at=MONDAY + days * DAY),
        st.integers(1, 3),
        st.sampled_from(SubscriptionStatus),
        st.integers(-50, 0),
    ),
    max_size=3,
    unique_by=lambda each: each.id,
)


@given(subscriptions, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(found: list[Subscription], random: Random) -> None:
    once = decide(NOBODY, found, None, PRICES, now=MONDAY)
    mixed = random.sample(found, len(found))
    assert choose(NOBODY, mixed) == choose(NOBODY, found) or len({each.created_at for each in found}) < len(found)
    again = decide(once.subscriber, found, None, PRICES, now=MONDAY)
    assert again.subscriber == once.subscriber
    if any(each.status in {SubscriptionStatus.ACTIVE, SubscriptionStatus.TRIALING} for each in found):
        assert plan_at(once.subscriber, MONDAY) is Plan.PRO
