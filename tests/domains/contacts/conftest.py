"""People with contacts, and bookings that are simply there."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.contacts import operations
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime

Add = Callable[..., Awaitable[Contact]]
Book = Callable[..., Awaitable[UUID]]
Events = Callable[[], Awaitable[list[Any]]]


@pytest.fixture
async def stranger(runtime: Runtime) -> User:
    """Another host."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="bo@other.example", name="Bo Other", username="bo", plan=Plan.PRO)
        return await people.welcome_user(work, wanted)


@pytest.fixture
async def strange_bearer(runtime: Runtime, stranger: User) -> dict[str, str]:
    """Give the header that lets the other host in."""
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, stranger, name="test")
        return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def add(runtime: Runtime, user: User) -> Add:
    """Add a contact by its verb."""

    async def add_one(name: str = "Noor Haddad", email: str = "noor@haddad.example", **more: Any) -> Contact:
        owner = more.pop("owner", user)
        async with runtime.transaction(OPERATOR) as work:
            return await operations.add_contact(
                work, owner, ContactWanted(name=Name(name), email=EmailAddress(email), **more)
            )

    return add_one


@pytest.fixture
def events(runtime: Runtime) -> Events:
    """Read what was recorded about contacts."""

    async def read() -> list[Any]:
        return list(await runtime.pool.fetch("select * from events where type like 'contact.%' order by no"))

    return read


@pytest.fixture
def book(runtime: Runtime, user: User) -> Book:
    """Write a booking of half an hour, so many hours from now."""

    async def write(contact: Contact, *, hours: float, status: str = "CONFIRMED") -> UUID:
        booking_id, starts_at = new_id(), datetime.now(UTC) + timedelta(hours=hours)
        await runtime.pool.execute(
            """with claim as (
                insert into claims (id, host_no, kind, starts_at, ends_at, during, active, created_at)
                values ($1, $2, 'booking', $3, $4, tstzrange($3, $4), false, now()) returning id)
            insert into bookings (id, host_id, event_type_id, contact_id, claim_id, status, starts_at, ends_at,
                invitee_name, invitee_email, invitee_zone, location, answers, cancelled_at, created_at, updated_at)
            select $1, $5, e.id, $6, claim.id, $7, $3, $4, 'Noor', 'noor@haddad.example', 'UTC', '{}', '{}',
                case when $7 = 'CANCELLED' then now() end, now(), now()
            from claim, (select id from event_types where owner_id = $5 order by position limit 1) e""",
            booking_id,
            user.no,
            starts_at,
            starts_at + timedelta(minutes=30),
            user.id,
            contact.id,
            status,
        )
        return booking_id

    return write


class Rest:
    """A REST client of one user."""

    def __init__(self, client: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
        self._client = client
        self._bearer = bearer

    async def __call__(self, method: str, path: str = "", **more: Any) -> httpx2.Response:
        """Send one request below /contacts."""
        return await self._client.request(method, f"/api/v1/contacts{path}", headers=self._bearer, **more)


@pytest.fixture
def rest(client: httpx2.AsyncClient, bearer: dict[str, str]) -> Rest:
    """Ask as the host."""
    return Rest(client, bearer)


@pytest.fixture
def strange_rest(client: httpx2.AsyncClient, strange_bearer: dict[str, str]) -> Rest:
    """Ask as the other host."""
    return Rest(client, strange_bearer)
