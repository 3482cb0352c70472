"""A host, signed in, with a portal at our HubSpot."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.crm.models import CrmConnection
from openslot.platform.core.work import Runtime
from tests.support.host import book, clock, member, stranger, user
from tests.support.hubspot_host import connect, hubspot, settings

__all__ = ["book", "clock", "hubspot", "member", "settings", "stranger", "user"]


@pytest.fixture
async def connection(runtime: Runtime, user: User) -> CrmConnection:
    return await connect(runtime, user)
