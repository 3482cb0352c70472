"""A host with an account at our Google, and an operator who has registered a client there."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.oauth import operations as oauth
from openslot.domains.oauth.models import CallbackQuery, Consent, OAuthVendor
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime, Work
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, serving

EMAIL = "mara@lindqvist.example"
LOOPBACK = Networks((ip_network("127.0.0.0/8"),))


@pytest.fixture
async def google(clock: MovingClock) -> AsyncIterator[FakeGoogle]:
    """Run a Google with the host's account."""
    async with serving(clock) as fake:
        fake.add_account(EMAIL)
        yield fake


@pytest.fixture
def settings(settings: Settings, google: FakeGoogle) -> Settings:
    """The settings of an operator whose Google is ours."""
    return google.configure(replace(settings, outbound_allow=LOOPBACK))


def in_session(runtime: Runtime, user: User, session_id: UUID | None = None) -> Work:
    """Work as a user in a session."""
    return runtime.work(Actor(kind=ActorKind.SESSION, user_id=user.id, credential_id=session_id or uuid4()))


async def allow(
    runtime: Runtime, user: User, google: FakeGoogle, *, email: str = EMAIL, renews: UUID | None = None, **how: Any
) -> Consent:
    """Go the whole way: to Google's page, decide there, and come back."""
    work = in_session(runtime, user)
    url = await oauth.begin_oauth_consent(work, user, OAuthVendor.GOOGLE, renews=renews)
    back = google.consents.decide(url, email, **how)
    return await oauth.finish_oauth_consent(work, user, OAuthVendor.GOOGLE, read_callback(back))


def read_callback(url: str) -> CallbackQuery:
    """Read what the browser brings back."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    return CallbackQuery(**{name: query.get(name, "") for name in CallbackQuery.__struct_fields__})
