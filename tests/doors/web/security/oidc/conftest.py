"""An honest provider, an operator who uses it, and the account of its person."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, FakeProvider, providing
from tests.support.two_factor import add_host


@pytest.fixture
async def provider(clock: MovingClock) -> AsyncIterator[FakeProvider]:
    """Run an honest provider."""
    async with providing(clock) as running:
        yield running


@pytest.fixture
def settings(settings: Settings, provider: FakeProvider) -> Settings:
    """Give the settings of an operator who uses the provider."""
    return replace(
        settings,
        outbound_allow=Networks((ip_network("127.0.0.0/8"),)),
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=CLIENT_SECRET,
        oidc_name="Keycloak",
    )


@pytest.fixture
async def mara(runtime: Runtime) -> User:
    """Add the account of the person at the provider."""
    return await add_host(runtime, "mara")
