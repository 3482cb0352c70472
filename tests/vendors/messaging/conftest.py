"""Each provider with its fake on loopback."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from openslot.platform.core.outbound import Outbound
from tests.support import fake_gateway, fake_twilio
from tests.support.clocks import MovingClock, clock
from tests.vendors.messaging.support import GatewayPeer, Peer, TwilioPeer


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(allow=(ip_network("127.0.0.0/8"),))
    yield opened
    await opened.close()


@pytest.fixture(params=["twilio", "gateway"])
async def peer(request: pytest.FixtureRequest, clock: MovingClock, outbound: Outbound) -> AsyncIterator[Peer]:
    made: Peer
    if request.param == "twilio":
        async with fake_twilio.serving(clock) as twilio:
            made = TwilioPeer(twilio, outbound)
            yield made
            await made.account.close()
    else:
        async with fake_gateway.serving(clock) as gateway:
            made = GatewayPeer(gateway, outbound)
            yield made


__all__ = ["clock"]
