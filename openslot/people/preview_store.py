"""The SQL of what a deletion would do; it only reads."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.core.db import Db

# Of each kind, what a host would miss.
COUNTS = """
select (select count(*) from bookings where host_id = $1 and status = 'CONFIRMED' and ends_at > $2) as upcoming,
       (select coalesce(sum(bookings), 0) from booking_counts where host_id = $1)::bigint as bookings,
       (select count(*) from event_types where owner_id = $1) as event_types,
       (select count(*) from contacts where owner_id = $1) as contacts,
       (select count(*) from conversations where owner_id = $1) as conversations,
       (select count(*) from api_keys where user_id = $1 and revoked_at is null) as keys,
       (select count(*) from webhook_endpoints where owner_id = $1) as webhooks,
       (select count(*) from calendar_connections where owner_id = $1) as calendars"""


class UpcomingMeeting(Struct, frozen=True, kw_only=True):
    """A booking that would be cancelled."""

    invitee_name: str
    event_type_name: str
    starts_at: datetime
    ends_at: datetime


async def list_upcoming(db: Db, user_id: UUID, *, now: datetime, limit: int) -> list[UpcomingMeeting]:
    """List a host's confirmed bookings that are not over, soonest first."""
    statement = """select b.invitee_name, e.name as event_type_name, b.starts_at, b.ends_at
        from bookings b join event_types e on e.id = b.event_type_id
        where b.host_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2 order by b.starts_at, b.id limit $3"""
    rows = await db.fetch(statement, user_id, now, limit)
    return [UpcomingMeeting(**row) for row in rows]


async def count_belongings(db: Db, user_id: UUID, *, now: datetime) -> dict[str, int]:
    row = await db.fetchrow(COUNTS, user_id, now)
    return dict(row) if row else {}
