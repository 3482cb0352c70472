"""A host on a Monday morning who has connected a number."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.platform.core.work import Runtime
from tests.support.host import clock, member, stranger, user
from tests.support.messaging import insert_number

__all__ = ["clock", "member", "stranger", "user"]


@pytest.fixture
async def number(runtime: Runtime, user: User) -> MessagingConnection:
    """The host's number for SMS."""
    return await insert_number(runtime, user_id=user.id)
