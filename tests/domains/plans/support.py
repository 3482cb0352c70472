"""What becomes of one subscriber: clicks here, what happens at Stripe, and the job of each minute."""

from datetime import datetime

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import Plan
from openslot.domains.plans import operations as subscriptions
from openslot.domains.plans.jobs import read_plans
from openslot.domains.plans.models import Subscriber
from openslot.domains.plans.operations import PlanOwner
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.fake_stripe import Books, FakeStripe, billing
from tests.support.fake_stripe.books import Object


class Story:
    """A user who subscribes, and everybody else who takes part."""

    def __init__(self, runtime: Runtime, clock: MovingClock, fake: FakeStripe, books: Books, user: User) -> None:
        self.runtime, self.clock, self.fake, self.books, self.user = runtime, clock, fake, books, user
        self.owner = PlanOwner(user=user)

    async def open(self, plan: Plan = Plan.PRO) -> str:
        """Click on “Subscribe”, and return the id of the checkout."""
        url = await subscriptions.subscribe_to_plan(self.runtime, self.owner, plan)
        return url.rpartition("/")[2]

    async def pay(self, plan: Plan = Plan.PRO) -> Object:
        """Subscribe, pay and come back."""
        begun = billing.subscribe(self.books, await self.open(plan))
        assert await subscriptions.read_subscription_of(self.runtime, self.owner.id)
        return begun

    async def open_elsewhere(self, price_id: str, customer_id: str) -> str:
        """Let the operator sell something else to the same customer, and return the id of the checkout."""
        sent = {
            "mode": "subscription",
            "line_items": [{"price": price_id, "quantity": 1}],
            "success_url": "https://shop.example/",
            "customer": customer_id,
        }
        return str(self.books.create_session(sent)["id"])

    async def pass_minute(self) -> None:
        """Let a minute pass, and its job run."""
        self.clock.pass_time(minutes=1)
        await read_plans(self.runtime.work(SYSTEM))
        await work_off(self.runtime, self.clock)

    async def plan(self) -> Plan:
        """Tell the effective plan of this moment."""
        user = await accounts.get_user(self.runtime.work(SYSTEM), self.user.id)
        return user.effective_plan

    async def stored(self) -> Subscriber:
        found = await subscriptions.find_subscriber(self.runtime.work(SYSTEM), self.owner.id)
        assert found is not None
        return found

    def statuses(self) -> list[str]:
        """List the statuses of all subscriptions at Stripe."""
        return [each["status"] for each in self.books.list("subscription")]

    def period_end(self, subscription: Object) -> datetime:
        return datetime.fromtimestamp(subscription["items"]["data"][0]["current_period_end"], self.clock().tzinfo)
