"""A host on a Monday morning, and a Stripe of their own on loopback."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments.models import PaymentConnection
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import PRICE
from tests.doors.web.event_types.conftest import offer
from tests.support.fake_stripe import Books
from tests.support.host import clock, member, stranger, user
from tests.support.payments import books, fake_stripe, insert_connection, settings

__all__ = ["books", "clock", "fake_stripe", "member", "settings", "stranger", "user"]


@pytest.fixture
async def connection(runtime: Runtime, user: User, books: Books) -> PaymentConnection:
    """The host's connection to their account."""
    return await insert_connection(runtime, books.key, user_id=user.id)


@pytest.fixture
async def paid(runtime: Runtime, user: User, connection: PaymentConnection) -> EventType:
    """A meeting of half an hour for 49 euros."""
    return await offer(runtime, user, "paid", price=Money(PRICE, "EUR"))
