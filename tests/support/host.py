"""A host in Berlin on a Monday morning, signed in, with a way to book and to let effects happen or fail."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.people import operations as people
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.doors.web.shared.cookies import csrf_token
from openslot.platform.core.actor import OPERATOR, PUBLIC, Actor
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime
from tests.support.clocks import MONDAY, MovingClock, clock
from tests.support.effects import work_off
from tests.support.live import connect
from tests.support.loopback import settings

__all__ = ["clock", "settings"]

TEN, ELEVEN, TWELVE = (MONDAY.replace(hour=hour) for hour in (10, 11, 12))
ZONE = "Europe/Berlin"

Book = Callable[..., Awaitable[Booking]]
As = Callable[[User], AbstractAsyncContextManager[httpx2.AsyncClient]]


@pytest.fixture
async def user(runtime: Runtime, password_hash: str) -> User:
    """A host in Berlin with the Pro plan."""
    wanted = UserWanted(
        email="mara@lindqvist.example", name="Mara Lindqvist", username="mara", plan=Plan.PRO, zone=ZONE
    )
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def stranger(runtime: Runtime, password_hash: str) -> User:
    """Another host."""
    wanted = UserWanted(email="omar@haddad.example", name="Omar Haddad", username="omar", plan=Plan.PRO, zone=ZONE)
    async with runtime.transaction(OPERATOR) as work:
        return await people.welcome_user(work, wanted, password_hash=password_hash)


async def open_session(runtime: Runtime, user: User) -> dict[str, str]:
    """Start a session without the form, which is slow on purpose."""
    row = await runtime.pool.fetchrow("select password_hash from users where id = $1", user.id)
    assert row is not None
    async with runtime.transaction(OPERATOR) as work:
        signed_in = await access.let_in_verified(work, user, password_hash=row["password_hash"], user_agent="test")
    session_id = await runtime.pool.fetchval("select id from sessions where hash = $1", fingerprint(signed_in.session))
    return {"cookie": f"openslot_session={signed_in.session}", "x-csrf-token": csrf_token(runtime, session_id)}


@pytest.fixture
async def member(client: httpx2.AsyncClient, runtime: Runtime, user: User) -> httpx2.AsyncClient:
    """Sign a client in as the host."""
    client.headers.update(await open_session(runtime, user))
    return client


@pytest.fixture
def book(runtime: Runtime, user: User) -> Book:
    """Book with the host as the public does."""

    async def book_one(
        starts_at: datetime = TEN,
        *,
        host: User = user,
        name: str = "Jonas Okafor",
        email: str = "jonas@okafor.example",
        zone: str = "Africa/Lagos",
        actor: Actor = PUBLIC,
        **changes: Any,
    ) -> Booking:
        wanted = BookingWanted(
            which=BySlug(host.id, "30min"),
            starts_at=starts_at,
            invitee=Invitee(name=name, email=email, zone=zone),
            **changes,
        )
        async with runtime.transaction(actor) as work:
            return await bookings.create_booking(work, wanted)

    return book_one


async def cancel(runtime: Runtime, booking: Booking, *, actor: Actor = PUBLIC, reason: str | None = None) -> None:
    """Cancel a booking."""
    async with runtime.transaction(actor) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None), reason=reason)


async def move(runtime: Runtime, booking: Booking, to: datetime, *, actor: Actor = PUBLIC) -> None:
    """Move a booking."""
    async with runtime.transaction(actor) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), to, reason="The train is late")


async def listen(runtime: Runtime, user: User, url: str = "http://127.0.0.1:9/hook") -> None:
    """Add an endpoint, by default one where nobody answers."""
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.add_endpoint(work, user, EndpointWanted(url=url))


async def fail(runtime: Runtime, clock: MovingClock, reaction: str = "webhooks.send") -> str:
    """Try all that is due, and let one effect of a booking have had its last try; return its id."""
    await work_off(runtime, clock)
    row = await runtime.pool.fetchrow(
        """with dead as (
            update effects set state = 'dead', attempts = 10, finished_at = $2
            where id = (select e.id from effects e left join events v on v.id = e.event_id
                where e.reaction = $1 and e.state = 'queued' and coalesce(v.subject_kind, 'booking') = 'booking'
                order by e.no limit 1)
            returning id, lane)
        , freed as (update lanes l set unfinished = l.unfinished - 1 from dead where l.lane = dead.lane)
        select id from dead""",
        reaction,
        clock.now,
    )
    assert row is not None
    return str(row["id"])


async def say_busy(runtime: Runtime, user: User, start: datetime, end: datetime, name: str = "Work") -> None:
    await runtime.pool.execute(
        """insert into busy_spans (host_no, source, uid, during)
        select no, $2, $3, tstzrange($4, $5) from users where id = $1""",
        user.id,
        name,
        str(uuid4()),
        start,
        end,
    )


@pytest.fixture
def as_(client: httpx2.AsyncClient, runtime: Runtime) -> As:
    """Ask as somebody who has signed in."""

    @asynccontextmanager
    async def sign_in(user: User) -> AsyncIterator[httpx2.AsyncClient]:
        async with connect(str(client.base_url), headers=await open_session(runtime, user)) as asking:
            yield asking

    return sign_in
