"""A host with a number for SMS and one for WhatsApp, at a provider that is a list in memory."""

from collections.abc import AsyncIterator

import pytest

from openslot.accounts.models import User
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.messaging.connection_models import ConnectionChannel, MessagingConnection
from openslot.messaging.ports import MessageProviders
from openslot.runtime import open_runtime
from tests.messaging.sending.carrier import Carrier
from tests.support.clocks import MovingClock
from tests.support.host import clock, stranger, user
from tests.support.messaging import insert_number

__all__ = ["clock", "stranger", "user"]


@pytest.fixture
def carrier() -> Carrier:
    return Carrier()


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, carrier: Carrier) -> AsyncIterator[Runtime]:
    async with open_runtime(settings, clock=clock, fakes={MessageProviders: carrier}) as opened:
        yield opened


@pytest.fixture
async def numbers(runtime: Runtime, user: User) -> dict[str, MessagingConnection]:
    """The host's numbers by channel."""
    return {
        "sms": await insert_number(runtime, user_id=user.id, number="+14155550100"),
        "whatsapp": await insert_number(
            runtime, user_id=user.id, channel=ConnectionChannel.WHATSAPP, number="+14155550101"
        ),
    }
