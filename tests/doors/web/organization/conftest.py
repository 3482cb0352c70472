"""Harbor with its owner, administrator and members; another organization; people without one; and a name server."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest
from msgspec import Struct

from openslot.app import create_app
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Organization, Role, User, UserWanted
from openslot.domains.accounts.organizations.operations import TxtResolver, add_domain, add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.runtime import open_runtime
from tests.support.clocks import MovingClock
from tests.support.host import ZONE, book, clock, open_session, settings
from tests.support.live import connect, serving
from tests.support.name_server import FakeResolver

__all__ = ["book", "clock", "settings"]

DOMAIN = "harbor.example"


class Harbor(Struct, frozen=True, kw_only=True):
    """An organization and everyone around it."""

    organization: Organization
    other: Organization
    owner: User
    admin: User
    member: User
    """Also the host of `book`."""
    foreign_owner: User
    nobody: User
    """Has no organization, and the Business plan."""
    free: User
    """Has no organization, and the Free plan."""
    platform: User
    members: dict[str, UUID]
    """By username."""

    def id_of(self, user: User) -> UUID:
        """Name someone's membership."""
        return self.members[user.username]


@pytest.fixture
def resolver() -> FakeResolver:
    """A name server without records."""
    return FakeResolver({})


@pytest.fixture
async def runtime(settings: Settings, clock: MovingClock, resolver: FakeResolver) -> AsyncIterator[Runtime]:
    """Open a runtime on the moving clock."""
    async with open_runtime(settings, clock=clock, fakes={TxtResolver: resolver}) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings, clock: MovingClock, resolver: FakeResolver) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of a server on the moving clock."""
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: open_runtime(settings, clock=clock, fakes={TxtResolver: resolver})
    async with serving(app) as base_url, connect(base_url, timeout=60) as opened:
        yield opened


async def add_user(runtime: Runtime, username: str, password_hash: str, **wanted: Any) -> User:
    """Open an account."""
    new = UserWanted(
        email=wanted.pop("email", f"{username}@{DOMAIN}"),
        name=f"{username.capitalize()} Lind",
        username=username,
        zone=ZONE,
        **wanted,
    )
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, new, password_hash=password_hash)


async def join(runtime: Runtime, organization: Organization, user: User, role: Role = Role.MEMBER) -> UUID:
    """Add someone to an organization."""
    async with runtime.transaction(OPERATOR) as work:
        return (await members.add_organization_member(work, organization, user, role=role)).id


@pytest.fixture
async def harbor(runtime: Runtime, password_hash: str) -> Harbor:
    """Make everyone."""
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_domain(work, organization, DOMAIN, verified=True)
        other = await add_organization(work, name="Beacon", slug="beacon", plan=Plan.BUSINESS)
        await add_domain(work, other, "beacon.example", verified=True)
    made = {name: await add_user(runtime, name, password_hash) for name in ("olga", "anna", "mara")}
    foreign = await add_user(runtime, "bo", password_hash, email="bo@beacon.example")
    ids = {
        name: await join(runtime, organization, made[name], role)
        for name, role in (("olga", Role.OWNER), ("anna", Role.ADMIN), ("mara", Role.MEMBER))
    }
    ids["bo"] = await join(runtime, other, foreign, Role.OWNER)
    return Harbor(
        organization=organization,
        other=other,
        owner=made["olga"],
        admin=made["anna"],
        member=made["mara"],
        foreign_owner=foreign,
        nobody=await add_user(runtime, "nora", password_hash, email="nora@x.example", plan=Plan.BUSINESS),
        free=await add_user(runtime, "finn", password_hash, email="finn@x.example"),
        platform=await add_user(runtime, "ada", password_hash, email="ada@x.example", is_admin=True),
        members=ids,
    )


@pytest.fixture
def user(harbor: Harbor) -> User:
    """The host whom `book` books."""
    return harbor.member


async def act_as(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> httpx2.AsyncClient:
    """Sign a client in as someone."""
    client.cookies.clear()
    client.headers.update(await open_session(runtime, user))
    return client


@pytest.fixture
async def owner(client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> httpx2.AsyncClient:
    """A client that is signed in as the owner."""
    return await act_as(client, runtime, harbor.owner)


async def count_changes(runtime: Runtime) -> int:
    """Count the lines of all logs."""
    count: int = await runtime.pool.fetchval("select count(*) from change_log")
    return count
