"""A host with a number for calls at Twilio, and one at a voice agent's provider."""

import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.messaging.connection_models import ConnectionChannel, MessagingConnection
from openslot.messaging.models import ProviderName
from tests.messaging.calls.support import WHSEC
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
