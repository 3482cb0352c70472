"""A host with a mailbox at our Microsoft, and an operator who has registered a client there."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.oauth import operations as oauth
from openslot.domains.oauth.models import Consent, OAuthVendor
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Mailbox, serving
from tests.support.google_host import LOOPBACK, in_session, read_callback

EMAIL = "mara@lindqvist.example"


@pytest.fixture
async def microsoft(clock: MovingClock) -> AsyncIterator[FakeMicrosoft]:
    """Run a Microsoft with the host's mailbox; nothing may be asked of it that Graph does not know."""
    async with serving(clock) as fake:
        fake.add_mailbox(EMAIL)
        yield fake
        assert fake.refused == []


@pytest.fixture
def mailbox(microsoft: FakeMicrosoft) -> Mailbox:
    """The host's mailbox."""
    return microsoft.mailboxes[EMAIL]


@pytest.fixture
def settings(settings: Settings, microsoft: FakeMicrosoft) -> Settings:
    """The settings of an operator whose Microsoft is ours."""
    return microsoft.configure(replace(settings, outbound_allow=LOOPBACK))


async def allow(
    runtime: Runtime,
    user: User,
    microsoft: FakeMicrosoft,
    *,
    email: str = EMAIL,
    renews: UUID | None = None,
    **how: Any,
) -> Consent:
    """Go the whole way: to Microsoft's page, decide there, and come back."""
    work = in_session(runtime, user)
    url = await oauth.begin_oauth_consent(work, user, OAuthVendor.MICROSOFT, renews=renews)
    back = microsoft.login.decide(url, email, **how)
    return await oauth.finish_oauth_consent(work, user, OAuthVendor.MICROSOFT, read_callback(back))
