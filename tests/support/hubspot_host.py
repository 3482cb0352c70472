"""A host whose portal is at our HubSpot."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations as crm
from openslot.domains.crm.models import CrmConnection, CrmWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.fake_hubspot import TOKEN, FakeHubSpot, serving
from tests.support.google_host import LOOPBACK


@pytest.fixture
async def hubspot(clock: MovingClock) -> AsyncIterator[FakeHubSpot]:
    """Run a HubSpot with the host's portal."""
    async with serving(clock) as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, hubspot: FakeHubSpot) -> Settings:
    """The settings of an operator whose HubSpot is ours."""
    return hubspot.configure(replace(settings, outbound_allow=LOOPBACK))


async def connect(runtime: Runtime, user: User, **options: Any) -> CrmConnection:
    """Connect the portal, with what its owner has chosen."""
    work = runtime.work(OPERATOR)
    connected = await crm.connect(work, user, CrmWanted(vendor="hubspot", secret=TOKEN))
    if options:
        async with runtime.transaction(OPERATOR) as inside:
            return await crm.change_crm_options(inside, user, connected.connection.id, options)
    return connected.connection
