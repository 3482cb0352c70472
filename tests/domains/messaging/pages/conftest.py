"""A host, and a Twilio of their own on loopback."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.fake_twilio import FakeAccount, FakeTwilio, serving
from tests.support.messaging import insert_number

NUMBER = "+4930111222"


@pytest.fixture
async def twilio(clock: MovingClock) -> AsyncIterator[FakeTwilio]:
    async with serving(clock) as running:
        yield running


@pytest.fixture
def account(twilio: FakeTwilio) -> FakeAccount:
    made = twilio.add_account()
    made.token = "c" * 32
    return made


@pytest.fixture
def address() -> str | None:
    """Where the installation can be reached, if a test says so."""
    return None


@pytest.fixture
def settings(settings: Settings, twilio: FakeTwilio, address: str | None) -> Settings:
    allowed = Networks((ip_network("127.0.0.0/8"),))
    return replace(settings, twilio_url=twilio.url, outbound_allow=allowed, base_url=address or settings.base_url)


@pytest.fixture
async def number(runtime: Runtime, user: User, account: FakeAccount) -> MessagingConnection:
    """The host's number for SMS."""
    return await insert_number(runtime, user_id=user.id, account=account.sid, token=account.token, number=NUMBER)


@pytest.fixture
async def harbor(runtime: Runtime, user: User) -> Organization:
    """An organization that the host looks after."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user, role=Role.ADMIN)
    return organization
