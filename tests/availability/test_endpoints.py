"""GET event types and availability, over HTTP."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.config import Settings
from tests.live import connect, serving

MONDAY_MORNING = datetime(2026, 3, 16, 7, 0, tzinfo=UTC)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server on whose clock it is a Monday morning in March 2026."""
    app = create_app(settings, clock=lambda: MONDAY_MORNING)
    async with serving(app) as base_url, connect(base_url) as opened:
        yield opened


async def test_slots_are_listed_in_the_askers_zone(
    client: httpx2.AsyncClient, user: User, bearer: dict[str, str]
) -> None:
    answer = await client.get(
        "/api/v1/availability/30min",
        params={"timezone": "asia/kathmandu", "startDate": "2026-03-16", "endDate": "2026-03-16"},
        headers=bearer,
    )

    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["timezone"] == "Asia/Kathmandu"
    assert body["data"][0] == {
        "date": "2026-03-16",
        "time": "14:45",
        "startTime": "2026-03-16T09:00:00Z",
        "endTime": "2026-03-16T09:30:00Z",
    }
    assert len(body["data"]) == 16
    assert set(body["eventType"]) == {"id", "name", "slug", "durationMinutes", "bufferBefore", "bufferAfter"}
    del user
