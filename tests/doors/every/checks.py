"""What must be true after a cancellation, through whichever door it came."""

from typing import Any

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.webhooks import operations as webhooks
from openslot.domains.webhooks.models import EndpointWanted
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.races import find_disorder

TOLD = "select count(*) from events where type = 'booking.cancelled' and subject_id = $1::text::uuid"
EFFECTS = """
select f.reaction from effects f join events v on v.id = f.event_id
where v.type = 'booking.cancelled' and f.reaction <> 'messaging.plan'"""


async def connect_webhook(runtime: Runtime, user: User) -> None:
    """Give the host an endpoint that wants to know of every booking."""
    async with runtime.transaction(OPERATOR) as work:
        await webhooks.add_endpoint(work, user, EndpointWanted(url="https://hooks.example/openslot"))


async def connect_calendar(runtime: Runtime, user: User) -> None:
    """Give the host a calendar that wants to know of every booking."""
    await runtime.pool.execute(
        """with connection as (
            insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
            values ($1, $2, 'ics', 'calendar.example', 'Work', '', 'infinity', now()) returning id, owner_id)
        insert into calendars (id, connection_id, owner_id, url, name, can_write, is_busy)
        select id, id, owner_id, 'https://calendar.example/work.ics', 'Work', false, false from connection""",
        new_id(),
        user.id,
    )


async def open_starts(client: httpx2.AsyncClient, bearer: dict[str, str], day: str) -> list[str]:
    """List the starts that are offered on a day."""
    params = {"timezone": "UTC", "startDate": day, "endDate": day}
    answer = await client.get("/api/v1/availability/meeting", params=params, headers=bearer)
    return [slot["startTime"] for slot in answer.json()["data"]]


async def check_cancelled(
    client: httpx2.AsyncClient, bearer: dict[str, str], runtime: Runtime, booking: dict[str, Any], *, by: str
) -> None:
    """Check that the time is given back, that everyone is told once, and that a second cancellation changes nothing."""
    booking_id, start = booking["id"], booking["startTime"]
    for _ in range(2):
        shown = (await client.get(f"/api/v1/bookings/{booking_id}", headers=bearer)).json()
        assert (shown["status"], shown["cancelledBy"]) == ("CANCELLED", by)
        assert shown["cancelReason"]
        assert start in await open_starts(client, bearer, start[:10])
        assert await runtime.pool.fetchval(TOLD, booking_id) == 1
        assert sorted(row["reaction"] for row in await runtime.pool.fetch(EFFECTS)) == [
            "calendars.plan",
            "mail.fan_out",
            "webhooks.dispatch",
        ]
        assert await find_disorder(runtime.pool) == {}
        again = await client.post(f"/api/v1/bookings/{booking_id}/cancel", headers=bearer)
        assert again.status_code == 200, again.text
