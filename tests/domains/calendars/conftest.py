"""A host in March 2026, a Radicale with the host's calendars, and ways to connect, sync, book and work."""

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as availability
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, BookingWanted, Invitee
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import (
    CalDavWanted,
    CalendarConnection,
    ConnectionChanges,
    ConnectionRef,
    IcsWanted,
)
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.effects import work_off
from tests.support.loopback import settings
from tests.support.radicale import PASSWORD, USER, Radicale, radicale_in

NINE = datetime(2026, 3, 16, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)

Connect = Callable[..., Awaitable[CalendarConnection]]
Book = Callable[..., Awaitable[Booking]]


@pytest.fixture(scope="session")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Radicale]:
    """Run one real server for all tests; `work_calendar` empties it for each."""
    with radicale_in(tmp_path_factory.mktemp("radicale")) as server:
        yield server


@pytest.fixture
async def work_calendar(radicale: Radicale) -> str:
    """Make an empty calendar on the server, the only one there."""
    radicale.empty()
    return await radicale.add_calendar("Work")


@pytest.fixture
def connect(runtime: Runtime, user: User) -> Connect:
    """Connect a calendar by its verb and read it."""

    async def do(url: str, *, username: str = USER, password: str = PASSWORD, owner: User = user) -> CalendarConnection:
        wanted = CalDavWanted(address=url, username=username, password=password)
        connection = await calendars.connect_calendar(runtime.work(OPERATOR), owner, wanted)
        await sync_connection(runtime, connection.id)
        return await get(runtime, connection)

    return do


@pytest.fixture
def book(runtime: Runtime, user: User) -> Book:
    """Book half an hour."""

    async def do(start: datetime = NINE + HOUR, name: str = "Jonas Okafor") -> Booking:
        invitee = Invitee(name=name, email="jonas@okafor.example", zone="Africa/Lagos")
        async with runtime.transaction(OPERATOR) as work:
            return await bookings.create_booking(
                work, BookingWanted(which=BySlug(user.id, "30min"), starts_at=start, invitee=invitee)
            )

    return do


async def get(runtime: Runtime, connection: CalendarConnection) -> CalendarConnection:
    """Read a connection as it is now."""
    return await calendars.get_calendar_connection(runtime.work(OPERATOR), ConnectionRef(connection.id))


async def feed(runtime: Runtime, user: User, url: str) -> CalendarConnection:
    """Connect an ICS feed."""
    return await calendars.connect_calendar(runtime.work(OPERATOR), user, IcsWanted(url))


async def change(runtime: Runtime, connection: CalendarConnection, **changes: Any) -> CalendarConnection:
    """Change a connection by its verb."""
    async with runtime.transaction(OPERATOR) as work:
        return await calendars.change_calendar_connection(
            work, ConnectionRef(connection.id), ConnectionChanges(**changes)
        )


async def read(runtime: Runtime, booking: Booking) -> Booking:
    """Read a booking as it is now."""
    details = await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, None))
    return details.booking


async def open_starts(runtime: Runtime, user: User, day: str = "2026-03-16") -> list[str]:
    """List the starts that are offered on a day, by UTC clock."""
    on = datetime.fromisoformat(day).date()
    _, slots, _ = await availability.list_open_slots(
        runtime.work(OPERATOR), BySlug(user.id, "30min"), timezone="UTC", first=on, last=on
    )
    return [f"{datetime.fromtimestamp(start, UTC):%H:%M}" for start in slots.starts]


async def events(runtime: Runtime, kind: str) -> list[str]:
    """Read the facts of a kind."""
    return [
        row["fact"] for row in await runtime.pool.fetch("select fact from events where type = $1 order by no", kind)
    ]


__all__ = ["clock", "settings", "work_off"]
