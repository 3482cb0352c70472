"""All SQL of calls."""

from uuid import UUID

from openslot.calls.models import Call, CallDirection, CallStatus
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans


@custom_plans
async def list_finished_calls(
    db: Db, owner_id: UUID, *, status: CallStatus | None, span: Span, limit: int, offset: int
) -> tuple[list[Call], int]:
    """List an owner's finished calls, newest first, and how many there are in all."""
    rows = await db.fetch(
        """with found as not materialized (
            select * from calls where owner_id = $1 and status is not null and ($2::text is null or status = $2)
                and started_at >= coalesce($3::timestamptz, '-infinity')
                and started_at < coalesce($4::timestamptz, 'infinity'))
        select t.total, c.* from (select count(*) as total from found) t
        left join (select * from found order by started_at desc, id desc limit $5 offset $6) c on true
        order by c.started_at desc, c.id desc""",
        owner_id,
        status,
        span.starts_at,
        span.ends_before,
        limit,
        offset,
    )
    return [to_call(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def insert_call(db: Db, call: Call) -> bool:
    """Write a new call; False if the vendor has reported it before."""
    made = await db.fetchval(
        """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, ended_at,
            duration_seconds, status, vendor_id, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        on conflict (owner_id, vendor_id) where vendor_id is not null do nothing returning id""",
        call.id,
        call.owner_id,
        call.direction,
        call.caller_phone,
        call.agent_name,
        call.started_at,
        call.ended_at,
        call.duration_seconds,
        call.status,
        call.vendor_id,
        call.created_at,
        call.updated_at,
    )
    return made is not None


async def lock_call_of_vendor(db: Db, owner_id: UUID, vendor_id: str) -> Call | None:
    """Look up the call that a vendor knows by this id, and lock it until the commit."""
    row = await db.fetchrow(
        "select * from calls where owner_id = $1 and vendor_id = $2 for update", owner_id, vendor_id
    )
    return to_call(row) if row else None


async def update_ending(db: Db, call: Call) -> None:
    """Write how a call ended."""
    await db.execute(
        """update calls set status = $3, ended_at = $4, duration_seconds = $5, updated_at = $6
        where owner_id = $1 and id = $2""",
        call.owner_id,
        call.id,
        call.status,
        call.ended_at,
        call.duration_seconds,
        call.updated_at,
    )


def to_call(row: Row) -> Call:
    """Make a call of its row."""
    return Call(
        id=row["id"],
        owner_id=row["owner_id"],
        direction=CallDirection(row["direction"]),
        caller_phone=row["caller_phone"],
        agent_name=row["agent_name"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        duration_seconds=row["duration_seconds"],
        status=CallStatus(row["status"]) if row["status"] else None,
        vendor_id=row["vendor_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
