"""An operator who sells plans by a Stripe on loopback, a user without a plan, and an organization."""

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.plans.support import Story
from tests.support.clocks import MovingClock, clock
from tests.support.fake_stripe import Books, FakeStripe, billing
from tests.support.payments import books, fake_stripe
from tests.support.payments import settings as stripe_settings

__all__ = ["books", "clock", "fake_stripe", "stripe_settings"]


@pytest.fixture
def settings(stripe_settings: Settings, books: Books) -> Settings:
    billing.add_price(books, "price_pro", 1200)
    billing.add_price(books, "price_business", 3000)
    return replace(
        stripe_settings, stripe_key=books.key, stripe_price_pro="price_pro", stripe_price_business="price_business"
    )


@pytest.fixture
async def user(runtime: Runtime, password_hash: str) -> User:
    """A host without a plan."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="mara@lindqvist.example", name="Mara Lindqvist", username="mara")
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def organization(runtime: Runtime) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        return await organizations.add_organization(work, name="Studio", slug="studio")


@pytest.fixture
def story(runtime: Runtime, clock: MovingClock, fake_stripe: FakeStripe, books: Books, user: User) -> Story:
    return Story(runtime, clock, fake_stripe, books, user)
