"""SQL that reads the event types of all hosts together."""

from uuid import UUID

from openslot.core.db import Db
from openslot.core.query_plans import custom_plans
from openslot.event_types.models import EventType
from openslot.event_types.store import EVENT_TYPES

LIST = f"""
with found as (
    select * from event_types where ($1::uuid is null or owner_id = $1) and ($2::boolean is null or active = $2))
select {EVENT_TYPES.columns}, t.total
from (select count(*) as total from found) t
left join (select * from found order by {{order}} limit $3 offset $4) e on true
order by {{order_of_page}}"""
# A host's in the order of the booking page, all hosts' by when they were added: ids are in that order.
LIST_OWN = LIST.format(order="position, id", order_of_page="e.position, e.id")
LIST_ALL = LIST.format(order="id desc", order_of_page="e.id desc")


@custom_plans
async def list_event_types(
    db: Db, *, owner_id: UUID | None, active: bool | None, limit: int, offset: int
) -> tuple[list[EventType], int]:
    """List the event types of one host or of all, with how many there are in all."""
    sql = LIST_ALL if owner_id is None else LIST_OWN
    rows = await db.fetch(sql, owner_id, active, limit, offset)
    return [EVENT_TYPES.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_event_type(db: Db, event_type_id: UUID) -> EventType | None:
    """Look up an event type of any host."""
    row = await db.fetchrow(f"select {EVENT_TYPES.columns} from event_types e where e.id = $1", event_type_id)
    return EVENT_TYPES.read(row) if row else None
