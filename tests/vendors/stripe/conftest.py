"""A Stripe on loopback with one account in test mode, and its checkout through the port."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from openslot.platform.core.outbound import Outbound
from openslot.vendors.stripe.billing import StripeBilling
from openslot.vendors.stripe.checkout import StripeCheckout
from tests.support.clocks import MovingClock, clock
from tests.support.fake_stripe import Books, FakeStripe, serving
from tests.vendors.stripe.support import open_checkout


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(allow=(ip_network("127.0.0.0/8"),))
    yield opened
    await opened.close()


@pytest.fixture
async def fake(clock: MovingClock) -> AsyncIterator[FakeStripe]:
    async with serving(clock) as running:
        yield running


@pytest.fixture
def books(fake: FakeStripe) -> Books:
    return fake.add_account()


@pytest.fixture
async def checkout(fake: FakeStripe, books: Books, outbound: Outbound) -> AsyncIterator[StripeCheckout]:
    async with open_checkout(fake, books.key, outbound) as opened:
        yield opened


@pytest.fixture
async def billing(fake: FakeStripe, books: Books, outbound: Outbound) -> AsyncIterator[StripeBilling]:
    opened = StripeBilling(outbound, url=fake.url, key=books.key)
    yield opened
    await opened.close()


__all__ = ["clock"]
