"""A host, a client and a mailbox on a clock that tests move, and how people find the links in their mail."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.message import EmailMessage
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.support.clocks import MovingClock, clock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.live import connect, serving

__all__ = ["clock"]

NEW = "a new and longer password"

ReadMail = Callable[[str], Awaitable[list[EmailMessage]]]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Give the settings of an installation that anyone may sign up to, without limits that tests would meet."""
    return replace(settings, sign_up="open", limit_failed_auth=10_000)


@asynccontextmanager
async def visiting(settings: Settings, clock: MovingClock, **changes: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve with other settings, and give a client."""
    app = create_app(replace(settings, **changes), clock=clock)
    async with serving(app) as base_url, connect(base_url, timeout=60) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings, clock: MovingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of a server on the moving clock."""
    async with visiting(settings, clock) as opened:
        yield opened


@pytest.fixture
async def user(runtime: Runtime, password_hash: str) -> User:
    """A host in Berlin with the Pro plan."""
    wanted = UserWanted(
        email="mara@lindqvist.example", name="Mara Lindqvist", username="mara", plan=Plan.PRO, zone="Europe/Berlin"
    )
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def member(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> httpx2.AsyncClient:
    """Sign a client in as the host."""
    client.headers.update(await open_session(runtime, user))
    return client


@pytest.fixture
def read_mail(runtime: Runtime, clock: MovingClock) -> ReadMail:
    """Let the worker send what is due, and read what an address has got, the first first."""

    async def read(to: str) -> list[EmailMessage]:
        await work_off(runtime, clock)
        return await messages(runtime, to)

    return read


def path_in(message: EmailMessage, beginning: str) -> str:
    """Find the path of a link in a mail."""
    found = re.search(rf"https?://[^/\s]+({re.escape(beginning)}[\w-]*)", part(message, "text/plain"))
    assert found is not None, part(message, "text/plain")
    return found[1]


async def let_provider_manage(runtime: Runtime, user: User) -> None:
    """Let the identity provider of an organization describe a user."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await organizations.add_organization(work, name="Harbor", slug="harbor")
        profile = {"userName": user.email}
        await members.add_described_member(work, organization, user, profile=profile, said_active=True)
