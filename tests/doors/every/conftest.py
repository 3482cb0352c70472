"""A host with a meeting, and a booking of it that every door can cancel."""

from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN, Book, book, meeting
from tests.domains.calendars.conftest import connect, radicale, work_calendar
from tests.doors.every.checks import connect_calendar, connect_webhook, open_starts
from tests.doors.every.ways import Installation
from tests.support.clocks import clock

__all__ = ["book", "clock", "connect", "meeting", "radicale", "work_calendar"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Enough room for tests that send much, and a way to the calendar server on this machine."""
    return replace(settings, limit_key=10_000, limit_public=10_000, outbound_allow=Networks.parse("127.0.0.0/8"))


@pytest.fixture
def start() -> str:
    """When the meeting begins."""
    return TEN


@pytest.fixture
async def booking(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, user: User, book: Book, start: str
) -> dict[str, Any]:
    """A booking, whose host has an endpoint and a calendar."""
    await connect_webhook(runtime, user)
    await connect_calendar(runtime, user)
    booking_id = (await book(start)).json()["bookingId"]
    assert start not in await open_starts(client, bearer, start[:10])
    return {"id": booking_id, "startTime": start}


@pytest.fixture
def installation(
    client: httpx2.AsyncClient, runtime: Runtime, bearer: dict[str, str], user: User, admin: User
) -> Installation:
    """What is behind the doors."""
    return Installation(client=client, runtime=runtime, bearer=bearer, user=user, admin=admin)
