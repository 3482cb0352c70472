"""An installation whose Stripe is a fake on loopback, and hosts who have connected an account of it."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_network
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.event_types.accounts import operations as accounts
from openslot.domains.event_types.models import PaymentAccount
from openslot.domains.payments.connections import store as connection_store
from openslot.domains.payments.models import PaymentConnection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.stripe import client
from openslot.vendors.stripe.checkout import StripeCheckout, StripeCheckouts
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe, serving


@pytest.fixture
async def fake_stripe(clock: MovingClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeStripe]:
    """Stripe on loopback, which nobody waits for long before they ask again."""
    monkeypatch.setattr(client, "FIRST_WAIT", 0.01)
    async with serving(clock) as running:
        yield running


@pytest.fixture
def books(fake_stripe: FakeStripe) -> Books:
    """An account of Stripe in test mode."""
    return fake_stripe.add_account()


@pytest.fixture
def settings(settings: Settings, fake_stripe: FakeStripe) -> Settings:
    """The settings of an operator who allows loopback, where Stripe is."""
    return replace(settings, outbound_allow=Networks((ip_network("127.0.0.0/8"),)), stripe_url=fake_stripe.url)


async def insert_connection(
    runtime: Runtime, key: str, *, user_id: UUID | None = None, organization_id: UUID | None = None
) -> PaymentConnection:
    """Connect an account without a look at it."""
    connection_id, now = new_id(), runtime.clock()
    await runtime.pool.execute(
        """insert into payment_connections
            (id, user_id, organization_id, mode, key, key_ending, read_until, connected_at)
        values ($1, $2, $3, 'test', $4, $5, $6, $6)""",
        connection_id,
        user_id,
        organization_id,
        runtime.secrets.seal(key),
        key[-4:],
        now,
    )
    account = PaymentAccount(id=connection_id, name="")
    if user_id is not None:
        async with runtime.transaction(OPERATOR) as work:
            await accounts.follow_own(work, account, user_id)
    return await connection_store.get_stored_connection(runtime.pool, connection_id)


class ImpatientCheckouts(StripeCheckouts):
    """The adapter of Stripe, which tries again at once."""

    def open(self, outbound: Outbound, key: str) -> StripeCheckout:
        return StripeCheckout(outbound, url=self._url, key=key, sleep=lambda _: asyncio.sleep(0))
