"""A Monday morning in March 2026, a host with an hour-long and a group event type, and a way to book."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.schedules import operations as schedules
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock

__all__ = ["clock"]

TEN = "2026-03-16T10:00:00Z"
ELEVEN = "2026-03-16T11:00:00Z"

Book = Callable[..., Awaitable[httpx2.Response]]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Enough room for tests that send much."""
    return replace(settings, limit_key=10_000, limit_public=10_000)


async def offer(runtime: Runtime, owner: User, slug: str, **changes: Any) -> EventType:
    """Offer something of one's own."""
    async with runtime.transaction(OPERATOR) as work:
        schedule, *_ = await schedules.list_schedules(work, owner)
        draft = event_types.draft_event_type(work, schedule, name=slug.title(), slug=slug, duration_minutes=30)
        return await event_types.add_event_type(work, schedule, replace(draft, **changes))


@pytest.fixture
async def meeting(runtime: Runtime, user: User) -> EventType:
    """A plain meeting of 30 minutes."""
    return await offer(runtime, user, "meeting")


@pytest.fixture
def book(client: httpx2.AsyncClient, bearer: dict[str, str], meeting: EventType) -> Book:
    """Book by key."""

    async def send(start: str = TEN, **changes: Any) -> httpx2.Response:
        headers = {**bearer, **changes.pop("headers", {})}
        body = {
            "eventTypeSlug": meeting.slug,
            "startTime": start,
            "inviteeName": "Jonas Okafor",
            "inviteeEmail": "jonas@okafor.example",
            "inviteeTimezone": "Africa/Lagos",
        }
        return await client.post("/api/v1/bookings", json=body | changes, headers=headers)

    return send


async def read(client: httpx2.AsyncClient, bearer: dict[str, str], made: httpx2.Response) -> dict[str, object]:
    """Read a booking that was just made."""
    answer = await client.get(f"/api/v1/bookings/{made.json()['bookingId']}", headers=bearer)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


async def slots(client: httpx2.AsyncClient, bearer: dict[str, str], slug: str = "meeting") -> list[str]:
    """List the starts that are offered on the day that the tests book."""
    params = {"timezone": "UTC", "startDate": "2026-03-16", "endDate": "2026-03-16"}
    answer = await client.get(f"/api/v1/availability/{slug}", params=params, headers=bearer)
    return [slot["startTime"] for slot in answer.json()["data"]]
