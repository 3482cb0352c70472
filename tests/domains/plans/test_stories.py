"""Every end of a subscription: what Stripe has now decides which plan its owner has."""

import asyncio
from datetime import timedelta

import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import Plan
from openslot.domains.payments.errors import AlreadySubscribed, BillingUnavailable, PlanNotSold, PlanSetByAdministrator
from openslot.domains.plans import operations as subscriptions
from openslot.domains.plans.jobs import read_plans
from openslot.domains.plans.models import Subscription, SubscriptionStatus
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from openslot.vendors.stripe.billing import StripeBilling
from tests.domains.plans.support import Story
from tests.platform.jobs.support import list_failed
from tests.support.fake_stripe import Fault, FaultKind, billing, pages
from tests.support.fake_stripe.books import Object

GRACE = timedelta(days=7)


async def test_who_pays_has_the_plan_as_soon_as_they_are_back(story: Story) -> None:
    begun = await story.pay()
    assert await story.plan() is Plan.PRO
    stored = await story.stored()
    assert (stored.subscription_id, stored.status) == (begun["id"], SubscriptionStatus.ACTIVE)
    assert (stored.session_id, stored.session_url) == (None, None)
    assert stored.plan_until == story.period_end(begun) + GRACE


async def test_who_never_comes_back_has_it_within_a_minute(story: Story) -> None:
    await story.pass_minute()
    billing.subscribe(story.books, await story.open(Plan.BUSINESS))
    await story.pass_minute()
    assert await story.plan() is Plan.BUSINESS


async def test_a_renewal_continues_it(story: Story) -> None:
    begun = await story.pay()
    for _ in range(3):
        story.clock.pass_time(days=30)
        billing.renew(story.books, begun["id"])
        await story.pass_minute()
        assert await story.plan() is Plan.PRO
    assert (await story.stored()).paid_until == story.period_end(begun)


async def test_a_payment_that_fails_lapses_after_the_grace_and_recovers(story: Story) -> None:
    begun = await story.pay()
    end = story.period_end(begun)
    story.clock.now = end + timedelta(hours=1)
    billing.fail_renewal(story.books, begun["id"])
    await story.pass_minute()
    assert (await story.stored()).grace_until == end + GRACE
    story.clock.now = end + GRACE - timedelta(minutes=2)
    billing.fail_renewal(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    story.clock.now = end + GRACE
    assert await story.plan() is Plan.FREE
    await story.pass_minute()
    assert await story.plan() is Plan.FREE
    billing.renew(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    assert (await story.stored()).grace_until is None


@pytest.mark.parametrize("status", ["unpaid", "canceled", "paused", "incomplete_expired", "hibernating"])
async def test_every_other_status_is_off_at_once(story: Story, status: str) -> None:
    begun = await story.pay()
    story.books.change(begun, "customer.subscription.updated", status=status)
    await story.pass_minute()
    assert await story.plan() is Plan.FREE


async def test_a_plan_that_is_cancelled_in_the_portal_lasts_to_its_end(story: Story) -> None:
    begun = await story.pay()
    portal = await subscriptions.open_plan_portal(story.runtime, story.owner)
    pages.take_portal(story.books, portal.rpartition("/")[2])
    assert await subscriptions.read_subscription_of(story.runtime, story.owner.id)
    end = story.period_end(begun)
    assert (await story.stored()).ends_at == end
    story.clock.now = end - timedelta(minutes=2)
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    story.clock.now = end
    assert await story.plan() is Plan.FREE
    billing.cancel(story.books, begun["id"])
    await story.pass_minute()
    assert (await story.stored()).status is SubscriptionStatus.CANCELLED


async def test_a_change_in_the_portal_changes_the_plan(story: Story) -> None:
    begun = await story.pay()
    item = begun["items"]["data"][0]["id"]
    billing.update(story.books, begun["id"], {"items": [{"id": item, "price": "price_business"}]})
    await story.pass_minute()
    assert await story.plan() is Plan.BUSINESS


async def test_a_price_that_is_no_longer_offered_keeps_its_plan(story: Story) -> None:
    begun = await story.pay()
    old = billing.add_price(story.books, "price_of_last_year", 900)
    begun["items"]["data"][0]["price"] = old
    story.books.emit("customer.subscription.updated", begun)
    await story.pass_minute()
    assert await story.plan() is Plan.PRO


async def test_who_has_cancelled_can_subscribe_again_as_the_same_customer(story: Story) -> None:
    first = await story.pay()
    billing.cancel(story.books, first["id"])
    await story.pass_minute()
    second = await story.pay(Plan.BUSINESS)
    assert second["customer"] == first["customer"]
    assert await story.plan() is Plan.BUSINESS
    assert story.statuses() == ["canceled", "active"]


async def test_lost_notices_only_cost_time(story: Story) -> None:
    begun = await story.pay()
    await story.pass_minute()
    story.books.change(begun, status="canceled")
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    story.clock.pass_time(days=1)
    await story.pass_minute()
    assert await story.plan() is Plan.FREE


async def test_late_and_repeated_events_change_nothing(story: Story) -> None:
    begun = await story.pay()
    billing.fail_renewal(story.books, begun["id"])
    billing.renew(story.books, begun["id"])
    for old in [each for each in story.books.list("event") if each["type"] == "customer.subscription.updated"]:
        story.books.emit("customer.subscription.updated", old["data"]["object"])
    await story.pass_minute()
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    asked = len(story.fake.asked)
    await story.pass_minute()
    assert [each.place for each in story.fake.asked[asked:]] == ["events"]


@pytest.mark.rest("waits for seconds")
async def test_while_stripe_is_down_a_paid_plan_lasts_as_long_as_the_grace(story: Story) -> None:
    begun = await story.pay()
    story.fake.is_down = True
    story.clock.now = story.period_end(begun) + timedelta(days=6)
    assert await read_plans(story.runtime.work(SYSTEM)) == "0 read"
    assert "read_due" in await list_failed(story.runtime, "plans.read")
    assert await story.plan() is Plan.PRO
    story.clock.pass_time(days=1)
    assert await story.plan() is Plan.FREE
    story.fake.is_down = False
    billing.renew(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.PRO


@pytest.mark.rest("waits for seconds")
async def test_nothing_begins_while_stripe_is_down(story: Story) -> None:
    story.fake.is_down = True
    with pytest.raises(BillingUnavailable):
        await story.open()
    story.fake.is_down = False
    story.clock.pass_time(minutes=2)
    await story.pay()
    assert len(story.books.list("checkout.session")) == 1


async def test_a_lost_answer_opens_no_second_checkout(story: Story) -> None:
    story.fake.faults = [Fault(FaultKind.LOSE_ANSWER, "checkout/sessions")]
    await story.open()
    assert len(story.books.list("checkout.session")) == 1


async def test_a_second_click_goes_to_the_same_checkout(story: Story) -> None:
    assert await story.open() == await story.open()
    both = await asyncio.gather(story.open(), story.open())
    assert both[0] == both[1]


async def test_two_clicks_at_once_open_one_checkout(story: Story) -> None:
    first, second = await asyncio.gather(story.open(), story.open())
    assert first == second
    assert len(story.books.list("checkout.session")) == 1


async def test_another_choice_closes_the_first_checkout(story: Story) -> None:
    first = await story.open(Plan.PRO)
    second = await story.open(Plan.BUSINESS)
    assert story.books.objects[first]["status"] == "expired"
    assert story.books.objects[second]["status"] == "open"


async def test_a_choice_after_the_first_was_paid_is_refused(story: Story) -> None:
    billing.subscribe(story.books, await story.open(Plan.PRO))
    with pytest.raises(AlreadySubscribed):
        await story.open(Plan.BUSINESS)
    assert await story.plan() is Plan.PRO
    assert story.statuses() == ["active"]


async def test_an_expired_checkout_is_replaced(story: Story) -> None:
    first = await story.open()
    story.clock.pass_time(hours=2)
    assert await story.open() != first


async def test_a_second_subscription_is_cancelled_credited_and_told(story: Story) -> None:
    first = await story.pay()
    sent = {
        "mode": "subscription",
        "line_items": [{"price": "price_business", "quantity": 1}],
        "success_url": "https://elsewhere.example",
        "customer": first["customer"],
    }
    story.clock.pass_time(minutes=1)
    second = billing.subscribe(story.books, story.books.create_session(sent)["id"])
    await story.pass_minute()
    assert (first["status"], second["status"]) == ("active", "canceled")
    assert any("prorate=true" in each.path for each in story.fake.asked)
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    mails = await story.runtime.pool.fetch("select subject from mail_messages where subject like 'Your second%'")
    assert len(mails) == 1


async def test_a_plan_by_an_administrator_wins_until_it_is_cleared(story: Story, runtime: Runtime, user: User) -> None:
    begun = await story.pay()
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, await accounts.get_user(work, user.id), Plan.FREE)
    billing.renew(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.FREE
    assert await runtime.pool.fetchval("select count(*) from events where type = 'user.plan_changed'") == 2
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, await accounts.get_user(work, user.id), Plan.BUSINESS)
    billing.cancel(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.BUSINESS
    with pytest.raises(PlanSetByAdministrator):
        await story.open()
    async with runtime.transaction(OPERATOR) as work:
        await subscriptions.clear_user_plan(work, user)
    assert await story.plan() is Plan.FREE


async def test_clearing_brings_back_what_is_paid(story: Story, runtime: Runtime, user: User) -> None:
    begun = await story.pay()
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.FREE)
        cleared = await subscriptions.clear_user_plan(work, user)
    assert cleared.effective_plan is Plan.PRO
    story.clock.now = story.period_end(begun) + GRACE
    assert await story.plan() is Plan.FREE


async def test_a_plan_from_before_origins_were_recorded_is_an_administrators(
    story: Story, runtime: Runtime, user: User
) -> None:
    await runtime.pool.execute("update users set plan = 'PRO', plan_origin = null where id = $1", user.id)
    with pytest.raises(PlanSetByAdministrator):
        await story.open(Plan.BUSINESS)


async def test_a_plan_without_a_price_is_not_sold(story: Story) -> None:
    with pytest.raises(PlanNotSold):
        await story.open(Plan.FREE)
    with pytest.raises(PlanNotSold):
        await subscriptions.open_plan_portal(story.runtime, story.owner)
    assert story.fake.asked == []


async def test_a_subscription_that_cannot_be_read_does_not_hold_up_others(story: Story) -> None:
    begun = await story.pay()
    begun["items"]["data"].clear()
    story.books.emit("customer.subscription.updated", begun)
    await story.pass_minute()
    assert await story.plan() is Plan.PRO
    assert (await story.stored()).next_read_at == story.clock() + timedelta(hours=1)


class SlowBilling(StripeBilling):
    """Answers with what was true before somebody else has read and stored something newer."""

    def __init__(self, story: Story, begun: Object) -> None:
        super().__init__(story.runtime.outbound, url=story.fake.url, key=story.books.key)
        self.story, self.begun = story, begun

    async def list_subscriptions(self, customer_id: str) -> list[Subscription]:
        found = await super().list_subscriptions(customer_id)
        if self.begun["status"] == "active":
            billing.cancel(self.story.books, self.begun["id"])
            assert await subscriptions.read_subscription_of(self.story.runtime, self.story.owner.id)
        return found


async def test_an_answer_that_was_overtaken_is_not_believed(story: Story) -> None:
    slow = SlowBilling(story, await story.pay())
    await subscriptions.read_anew(story.runtime, slow, (await story.stored()).id)
    await slow.close()
    assert await story.plan() is Plan.FREE
