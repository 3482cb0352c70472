"""A portal of our own HubSpot, and how it is opened."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import pytest

from openslot.domains.crm.ports import CrmCredentials
from openslot.platform.core.config import Settings
from openslot.platform.core.outbound import Outbound
from openslot.vendors.hubspot.vendor import HubSpot, HubSpotVendor
from tests.support.clocks import MovingClock
from tests.support.fake_hubspot import TOKEN, FakeHubSpot, serving

Open = Callable[..., HubSpot]


@pytest.fixture
async def fake() -> AsyncIterator[FakeHubSpot]:
    async with serving(MovingClock(datetime(2026, 3, 10, 8, tzinfo=UTC))) as running:
        yield running


@pytest.fixture
async def open_hubspot(fake: FakeHubSpot) -> AsyncIterator[Open]:
    outbound = Outbound(allow=(ip_network("127.0.0.0/8"),))
    opened: list[HubSpot] = []

    def open_portal(**options: Any) -> HubSpot:
        credentials = CrmCredentials(secret=TOKEN, options=options)
        opened.append(HubSpotVendor().open(outbound, fake.configure(Settings()), credentials))
        return opened[-1]

    yield open_portal
    for each in opened:
        await each.close()
    await outbound.close()
