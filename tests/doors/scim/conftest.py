"""An organization with the Business plan, its verified domain, its token, and a provider that holds it."""

import httpx2
import msgspec
import pytest

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.provisioning import DOMAIN, Provider, harbor, organization, token

__all__ = ["harbor", "organization", "token"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Enough room for tests that send much."""
    return msgspec.structs.replace(settings, limit_scim=100_000)


@pytest.fixture
def provider(client: httpx2.AsyncClient, token: str) -> Provider:
    """The organization's identity provider."""
    return Provider(client, token)


@pytest.fixture
async def mara(runtime: Runtime, password_hash: str) -> User:
    """A host inside the organization's domain."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email=f"mara@{DOMAIN}", name="Mara Lindqvist", username="mara")
        return await people.welcome_user(work, wanted, password_hash=password_hash)
