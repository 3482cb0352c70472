"""A host with a number for SMS and one for WhatsApp, at a provider that is a list in memory."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking
from openslot.domains.messaging.connections import store as connection_store
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.ports import MessageProviders
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.domains.messaging.sending.carrier import Carrier
from tests.domains.messaging.sending.support import remind
from tests.support.clocks import MovingClock
from tests.support.host import ELEVEN, Book, book, clock, stranger, user
from tests.support.messaging import insert_number

__all__ = ["book", "clock", "stranger", "user"]


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


@pytest.fixture
async def number(runtime: Runtime, numbers: dict[str, MessagingConnection]) -> MessagingConnection:
    """A number for SMS whose owner lets people cancel."""
    number = replace(numbers["sms"], can_cancel=True)
    await connection_store.update(runtime.pool, number)
    return number


@pytest.fixture
async def booking(runtime: Runtime, number: MessagingConnection, book: Book) -> Booking:
    """A meeting at eleven, of which its invitee was reminded."""
    booking = await book(ELEVEN)
    await remind(runtime, number, booking)
    return booking
