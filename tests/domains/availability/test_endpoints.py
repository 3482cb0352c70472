"""GET event types and availability, over HTTP."""

import httpx2

from openslot.domains.accounts.models import User
from tests.support.clocks import clock

__all__ = ["clock"]


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
