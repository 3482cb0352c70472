"""A host on a Monday morning, and a CRM in memory that can be connected."""

from collections.abc import AsyncIterator

import pytest

from openslot.accounts.models import User
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings
from openslot.core.work import Clock, Runtime
from openslot.crm import operations
from openslot.crm.models import CrmConnection, CrmWanted
from openslot.crm.ports import CrmVendors
from openslot.integrations.crm.vendors import KnownVendors
from openslot.integrations.crm.webhook import WebhookVendor
from openslot.runtime import open_runtime
from tests.support.fake_crm import FakeCrm, FakeVendor
from tests.support.host import book, clock, settings, stranger, user

__all__ = ["book", "clock", "settings", "stranger", "user"]


@pytest.fixture
def crm() -> FakeCrm:
    return FakeCrm()


@pytest.fixture
async def runtime(settings: Settings, clock: Clock, crm: FakeCrm) -> AsyncIterator[Runtime]:
    """A runtime that knows the fake beside the webhook."""
    vendors = KnownVendors(FakeVendor(crm), WebhookVendor(clock))
    async with open_runtime(settings, clock=clock, fakes={CrmVendors: vendors}) as opened:
        yield opened


@pytest.fixture
async def connection(runtime: Runtime, user: User) -> CrmConnection:
    """The host's CRM."""
    return await connect(runtime, user)


async def connect(runtime: Runtime, user: User, secret: str = "a token") -> CrmConnection:
    """Connect the fake."""
    wanted = CrmWanted(vendor="fake", secret=secret)
    return (await operations.connect(runtime.work(OPERATOR), user, wanted)).connection
