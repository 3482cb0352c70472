"""Bookings as the doors take them."""

from typing import Any

import httpx2

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import TEN


def public_body(event_type: EventType, start: str = TEN, **changes: Any) -> dict[str, Any]:
    return {
        "eventTypeId": str(event_type.id),
        "startTime": start,
        "inviteeName": "Li Wei",
        "inviteeEmail": "li@wei.example",
        "inviteeTimezone": "Asia/Shanghai",
        **changes,
    }


async def hold_publicly(client: httpx2.AsyncClient, event_type: EventType, start: str = TEN) -> httpx2.Response:
    return await client.post("/api/public/holds", json={"eventTypeId": str(event_type.id), "startTime": start})


async def copy_booking(runtime: Runtime, booking_id: str, count: int, *, apart: str = "1 hour") -> None:
    """Make a host busier than hands could."""
    columns = await runtime.pool.fetch(
        "select column_name from information_schema.columns where table_name = 'bookings' order by ordinal_position"
    )
    names = [row["column_name"] for row in columns]
    kept = [name for name in names if name not in {"id", "starts_at", "ends_at"}]
    await runtime.pool.execute(
        f"""insert into bookings (id, starts_at, ends_at, {", ".join(kept)})
        select gen_random_uuid(), starts_at + n * $3::text::interval, ends_at + n * $3::text::interval,
            {", ".join(kept)}
        from bookings, generate_series(1, $2::int) n where id = $1""",
        booking_id,
        count,
        apart,
    )
