"""A Twilio on loopback with one account."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from openslot.domains.messaging.models import MessageCredentials
from openslot.platform.core.outbound import Outbound
from openslot.vendors.twilio.account import Twilio, TwilioAccount
from tests.support.clocks import MovingClock, clock
from tests.support.fake_twilio import FakeAccount, FakeTwilio, serving


@pytest.fixture
async def fake(clock: MovingClock) -> AsyncIterator[FakeTwilio]:
    async with serving(clock) as running:
        yield running


@pytest.fixture
def books(fake: FakeTwilio) -> FakeAccount:
    return fake.add_account()


@pytest.fixture
async def account(fake: FakeTwilio, books: FakeAccount) -> AsyncIterator[TwilioAccount]:
    outbound = Outbound(allow=(ip_network("127.0.0.1/32"),))
    opened = Twilio(fake.url).open(outbound, MessageCredentials(account=books.sid, token=books.token))
    yield opened
    await opened.close()
    await outbound.close()


__all__ = ["clock"]
