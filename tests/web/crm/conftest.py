"""A host, signed in, with a portal at our HubSpot."""

import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.crm.models import CrmConnection
from tests.support.host import book, clock, member, stranger, user
from tests.support.hubspot_host import connect, hubspot, settings

__all__ = ["book", "clock", "hubspot", "member", "settings", "stranger", "user"]


@pytest.fixture
async def connection(runtime: Runtime, user: User) -> CrmConnection:
    return await connect(runtime, user)
