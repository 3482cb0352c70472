"""An operator who sells plans, a user who is signed in, and an organization that the user owns."""

import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.plans.conftest import settings, story, stripe_settings, user
from tests.support.clocks import clock
from tests.support.host import member
from tests.support.payments import books, fake_stripe

__all__ = ["books", "clock", "fake_stripe", "member", "settings", "story", "stripe_settings", "user"]


@pytest.fixture
async def organization(runtime: Runtime, user: User) -> Organization:
    async with runtime.transaction(OPERATOR) as work:
        made = await add_organization(work, name="Studio", slug="studio")
        await add_organization_member(work, made, user, role=Role.OWNER)
        return made
