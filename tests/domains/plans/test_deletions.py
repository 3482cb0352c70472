"""Who is deleted is charged no more, whatever Stripe does at that moment."""

import pytest

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import deletions, organization_deletions
from openslot.domains.people.deletions import advance_deletions
from openslot.domains.plans import operations as subscriptions
from openslot.domains.plans.jobs import read_plans
from openslot.domains.plans.operations import PlanOwner
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from tests.domains.plans.support import Story
from tests.platform.jobs.support import list_failed
from tests.support.effects import work_off
from tests.support.fake_stripe import billing


async def delete(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await deletions.delete_account(work, await accounts.get_user(work, user.id))


async def count_rows(runtime: Runtime) -> int:
    return int(await runtime.pool.fetchval("select count(*) from subscribers"))


async def test_a_deleted_account_is_cancelled_first(story: Story, runtime: Runtime, user: User) -> None:
    await story.pay()
    await delete(runtime, user)
    await work_off(runtime, story.clock)
    assert story.statuses() == ["canceled"]
    assert await runtime.pool.fetchval("select count(*) from users where id = $1", user.id) == 1
    await advance_deletions(runtime.work(SYSTEM))
    await work_off(runtime, story.clock)
    await advance_deletions(runtime.work(SYSTEM))
    await story.pass_minute()
    assert await count_rows(runtime) == 0


@pytest.mark.rest("waits for seconds")
async def test_a_deletion_waits_for_a_stripe_that_is_down(story: Story, runtime: Runtime, user: User) -> None:
    await story.pay()
    story.fake.is_down = True
    await delete(runtime, user)
    await work_off(runtime, story.clock)
    await advance_deletions(runtime.work(SYSTEM))
    assert await runtime.pool.fetchval("select count(*) from users where id = $1", user.id) == 1
    story.fake.is_down = False
    await story.pass_minute()
    assert story.statuses() == ["canceled"]


@pytest.mark.rest("waits for seconds")
async def test_the_duty_outlives_the_account(story: Story, runtime: Runtime, user: User) -> None:
    await story.pay()
    story.fake.is_down = True
    await runtime.pool.execute("delete from users where id = $1", user.id)
    for _ in range(2):
        await read_plans(runtime.work(SYSTEM))
        assert "end_orphans" in await list_failed(runtime, "plans.read")
    assert story.statuses() == ["active"]
    story.fake.is_down = False
    await story.pass_minute()
    assert story.statuses() == ["canceled"]
    assert await count_rows(runtime) == 0


async def test_a_checkout_that_is_open_can_no_longer_be_paid(story: Story, runtime: Runtime, user: User) -> None:
    opened = await story.open()
    await delete(runtime, user)
    await work_off(runtime, story.clock)
    assert story.books.objects[opened]["status"] == "expired"


async def test_a_checkout_that_was_paid_a_moment_ago_is_cancelled_too(
    story: Story, runtime: Runtime, user: User
) -> None:
    billing.subscribe(story.books, await story.open())
    await delete(runtime, user)
    await work_off(runtime, story.clock)
    assert story.statuses() == ["canceled"]


async def test_a_deleted_organization_is_cancelled(
    story: Story, runtime: Runtime, user: User, organization: Organization
) -> None:
    story.owner = PlanOwner(user=user, organization_id=organization.id)
    await story.pay(Plan.BUSINESS)
    assert await runtime.pool.fetchval("select plan from organizations") == "BUSINESS"
    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, organization)
    await work_off(runtime, story.clock)
    assert story.statuses() == ["canceled"]
    assert await count_rows(runtime) == 0


async def test_what_belongs_to_the_other_mode_waits_for_its_key(story: Story, runtime: Runtime, user: User) -> None:
    await story.pay()
    await runtime.pool.execute("update subscribers set mode = 'live'")
    assert await subscriptions.find_subscriber(runtime.work(SYSTEM), user.id) is None
    await runtime.pool.execute("delete from users where id = $1", user.id)
    await story.pass_minute()
    assert (story.statuses(), await count_rows(runtime)) == (["active"], 1)
