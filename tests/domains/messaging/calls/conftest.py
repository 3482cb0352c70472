"""A host with a number for calls at Twilio, and one at a voice agent's provider."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.domains.messaging.models import ProviderName
from openslot.platform.core.work import Runtime
from tests.domains.messaging.calls.support import WHSEC
from tests.support.host import clock, member, stranger, user
from tests.support.messaging import insert_number

__all__ = ["clock", "member", "stranger", "user"]


@pytest.fixture
async def number(runtime: Runtime, user: User) -> MessagingConnection:
    return await insert_number(runtime, user_id=user.id, channel=ConnectionChannel.VOICE)


@pytest.fixture
async def gateway(runtime: Runtime, user: User) -> MessagingConnection:
    return await insert_number(
        runtime,
        user_id=user.id,
        channel=ConnectionChannel.VOICE,
        provider=ProviderName.GATEWAY,
        account="https://gateway.example",
        token=WHSEC,
    )
