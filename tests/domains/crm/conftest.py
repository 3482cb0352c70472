"""A host on a Monday morning, and a CRM in memory that can be connected."""

from collections.abc import AsyncIterator

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmConnection, CrmWanted
from openslot.domains.crm.ports import CrmVendors
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Clock, Runtime
from openslot.runtime import open_runtime
from openslot.vendors.crm_webhook import WebhookVendor
from openslot.vendors.crms import KnownVendors
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
