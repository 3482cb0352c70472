"""A host whose events go to receivers on loopback, on a clock that tests move."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef as ByBooking
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.models import Contact
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import Endpoint, EndpointWanted
from openslot.domains.webhooks.operations import open_answer
from openslot.platform.core.actor import OPERATOR, EffectAttempt
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.loopback import settings
from tests.support.receiver import Receiver, receiving

__all__ = ["clock", "settings"]

Add = Callable[..., Awaitable[tuple[Endpoint, str]]]
Happen = Callable[..., Awaitable[Contact]]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Open a receiver that takes everything."""
    async with receiving() as opened:
        yield opened


@pytest.fixture
def add(runtime: Runtime, user: User) -> Add:
    """Add an endpoint of the host by its verb."""

    async def add_one(url: str, *events: str, owner: User = user) -> tuple[Endpoint, str]:
        async with runtime.transaction(OPERATOR) as work:
            return await webhooks.add_endpoint(work, owner, EndpointWanted(url=url, events=events))

    return add_one


@pytest.fixture
def happen(runtime: Runtime, user: User) -> Happen:
    """Let something public happen: a contact is added."""
    count = iter(range(1_000_000))

    async def add_contact(owner: User = user) -> Contact:
        async with runtime.transaction(OPERATOR) as work:
            wanted = ContactWanted(name=Name("Noor Haddad"), email=EmailAddress(f"noor{next(count)}@haddad.example"))
            return await contacts.add_contact(work, owner, wanted)

    return add_contact


async def planned_jobs(runtime: Runtime) -> list[EffectAttempt]:
    """Name what is planned, whenever it is due."""
    rows = await runtime.pool.fetch("select id, round from effects where state = 'queued' order by no")
    return [EffectAttempt(row["id"], row["round"]) for row in rows]


async def live_through(runtime: Runtime, user: User, start: datetime, number: int = 0) -> UUID:
    """Book, move by an hour, and cancel."""
    invitee = Invitee(name="Jonas", email=f"jonas{number}@okafor.example", zone="UTC")
    wanted = BookingWanted(which=BySlug(user.id, "30min"), starts_at=start, invitee=invitee)
    async with runtime.transaction(OPERATOR) as work:
        booking = await bookings.create_booking(work, wanted)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, ByBooking(booking.id, user.id), start + timedelta(hours=1))
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, ByBooking(booking.id, user.id))
    return booking.id


async def deliveries(runtime: Runtime) -> list[Any]:
    """Read the log, the first first, with what the receiver answered."""
    rows = await runtime.pool.fetch("select * from webhook_deliveries order by at, id")
    return [{**row, "answer": open_answer(runtime, row["id"], row["answer"])} for row in rows]


async def states(runtime: Runtime) -> list[str]:
    """Read how the deliveries stand."""
    rows = await runtime.pool.fetch("select state from effects where reaction = 'webhooks.send' order by no")
    return [row["state"] for row in rows]


async def state_of(runtime: Runtime, endpoint_id: UUID) -> tuple[str, str | None]:
    """Read an endpoint's state and its reason."""
    row = await runtime.pool.fetchrow("select state, state_reason from webhook_endpoints where id = $1", endpoint_id)
    assert row is not None
    return row["state"], row["state_reason"]


def gaps(moments: list[datetime]) -> list[timedelta]:
    """Give the time between each two."""
    return [later - earlier for earlier, later in pairwise(moments)]
