"""Whose subscriptions count: those of people who are there, bought here, also by a deleted customer."""

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.plans.support import Story
from tests.support.effects import work_off
from tests.support.fake_stripe import billing


async def test_a_disabled_account_is_charged_no_more_and_can_subscribe_again_later(
    story: Story, runtime: Runtime, user: User
) -> None:
    await story.pay()
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, await accounts.get_user(work, user.id))
    await work_off(runtime, story.clock)
    assert story.statuses() == ["canceled"]
    assert await story.plan() is Plan.FREE

    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_enabled(work, await accounts.get_user(work, user.id))
    await story.pay()
    assert story.statuses() == ["canceled", "active"]
    assert await story.plan() is Plan.PRO


async def test_what_a_customer_has_bought_elsewhere_is_left_alone(story: Story) -> None:
    billing.add_price(story.books, "price_coffee", 500)
    mine = await story.pay()
    other = billing.subscribe(story.books, await story.open_elsewhere("price_coffee", mine["customer"]))
    await story.pass_minute()
    assert story.statuses() == ["active", "active"]
    assert (await story.stored()).subscription_id == mine["id"]

    billing.cancel(story.books, mine["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.FREE
    assert other["status"] == "active"


async def test_whoever_was_deleted_as_a_customer_can_subscribe_again(story: Story) -> None:
    begun = await story.pay()
    billing.delete_customer(story.books, begun["customer"])
    await story.pass_minute()
    assert await story.plan() is Plan.FREE
    await story.pay(Plan.BUSINESS)
    assert await story.plan() is Plan.BUSINESS
    assert (await story.stored()).customer_id != begun["customer"]
