"""The SQL of a host's overview: event types with what is booked of them and their private links."""

from datetime import datetime
from uuid import UUID

from openslot.core.db import Db, Row
from openslot.event_types.store import EVENT_TYPE_COLUMNS

# A meeting lasts a day at most, so the index on starts finds those that are not over.
UPCOMING = """
select b.event_type_id, count(*) as upcoming from bookings b
where b.host_id = $1 and b.status = 'CONFIRMED' and b.ends_at > $2 and b.starts_at > $2 - interval '1 day'
group by b.event_type_id"""
COLUMNS = f"{EVENT_TYPE_COLUMNS}, e.private_token, e.private_hash, e.private_sealed"
LIST = f"""
with upcoming as materialized ({UPCOMING})
select {COLUMNS}, coalesce(n.upcoming, 0) as upcoming,
       exists (select from bookings b where b.event_type_id = e.id) as was_booked, t.offered, t.archived
from (select count(*) filter (where active) as offered, count(*) filter (where not active) as archived
      from event_types where owner_id = $1) t
left join (select * from event_types where owner_id = $1 and active = $3
           order by position, id limit $4 offset $5) e on true
left join upcoming n on n.event_type_id = e.id
order by e.position, e.id"""
ONE = f"""
select {COLUMNS},
       (select count(*) from bookings b where b.host_id = $1 and b.status = 'CONFIRMED' and b.event_type_id = e.id
        and b.ends_at > $2 and b.starts_at > $2 - interval '1 day') as upcoming,
       exists (select from bookings b where b.event_type_id = e.id) as was_booked
from event_types e where e.owner_id = $1 and e.id = $3"""


async def list_rows(db: Db, owner_id: UUID, *, active: bool, now: datetime, limit: int, offset: int) -> list[Row]:
    """List an owner's event types that are offered, or those that are not; one row without any has the counts."""
    return await db.fetch(LIST, owner_id, now, active, limit, offset)


async def find_row(db: Db, owner_id: UUID, event_type_id: UUID, *, now: datetime) -> Row | None:
    """Look an owner's event type up."""
    return await db.fetchrow(ONE, owner_id, now, event_type_id)
