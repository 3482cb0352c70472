"""A host on a Monday morning who has connected a number."""

import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.messaging.connection_models import MessagingConnection
from tests.support.host import clock, member, stranger, user
from tests.support.messaging import insert_number

__all__ = ["clock", "member", "stranger", "user"]


@pytest.fixture
async def number(runtime: Runtime, user: User) -> MessagingConnection:
    """The host's number for SMS."""
    return await insert_number(runtime, user_id=user.id)
