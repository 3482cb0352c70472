"""All SQL of calls."""

from uuid import UUID

from openslot.calls.models import Call, CallContact, CallDirection, CallStatus, KnownCall
from openslot.contacts.store import OF_PERSON, fold_person
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans


@custom_plans
async def list_finished_calls(
    db: Db, owner_id: UUID, *, status: CallStatus | None, span: Span, limit: int, offset: int
) -> tuple[list[Call], int]:
    """List an owner's finished calls, newest first, and how many there are in all."""
    statement = """with found as not materialized (
            select * from calls where owner_id = $1 and status is not null and ($2::text is null or status = $2)
                and started_at >= coalesce($3::timestamptz, '-infinity')
                and started_at < coalesce($4::timestamptz, 'infinity'))
        select t.total, c.* from (select count(*) as total from found) t
        left join (select * from found order by started_at desc, id desc limit $5 offset $6) c on true
        order by c.started_at desc, c.id desc"""
    rows = await db.fetch(statement, owner_id, status, span.starts_at, span.ends_before, limit, offset)
    return [to_call(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def insert_call(db: Db, call: Call) -> bool:
    """Write a new call; False if the vendor has reported it before."""
    statement = """insert into calls (id, owner_id, direction, caller_phone, agent_name, started_at, ended_at,
            duration_seconds, status, vendor_id, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        on conflict (owner_id, vendor_id) where vendor_id is not null do nothing returning id"""
    made = await db.fetchval(
        statement,
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
    statement = """update calls set status = $3, ended_at = $4, duration_seconds = $5, updated_at = $6
        where owner_id = $1 and id = $2"""
    await db.execute(
        statement, call.owner_id, call.id, call.status, call.ended_at, call.duration_seconds, call.updated_at
    )


def to_call(row: Row) -> Call:
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


KNOWN = """left join lateral (
    select id, name from contacts where owner_id = $1 and phone = c.caller_phone
    order by created_at, id limit 1) known on true"""
LIST = f"""
with found as not materialized (
    select * from calls f where owner_id = $1 and status is not null and ($2::text is null or status = $2)
        and ($3::text is null or direction = $3)
        and started_at >= coalesce($4::timestamptz, '-infinity') and started_at < coalesce($5::timestamptz, 'infinity')
        and {{of_person}})
select t.total, c.*, known.id as contact_id, known.name as contact_name
from (select count(*) as total from found) t
left join (select * from found order by started_at desc, id desc limit $6 offset $7) c on true
{KNOWN}
order by c.started_at desc, c.id desc"""
FIND = f"""
select c.*, known.id as contact_id, known.name as contact_name
from calls c {KNOWN} where c.owner_id = $1 and c.id = $2 and c.status is not null"""


@custom_plans
async def list_calls(
    db: Db,
    owner_id: UUID,
    *,
    search: str,
    phone: str | None,
    direction: CallDirection | None,
    status: CallStatus | None,
    span: Span,
    limit: int,
    offset: int,
) -> tuple[list[KnownCall], int]:
    """List an owner's finished calls, newest first, and how many there are in all."""
    asked: tuple[object, ...] = (owner_id, status, direction, span.starts_at, span.ends_before, limit, offset)
    of_person = "true"
    if phone is not None:
        of_person, asked = "f.caller_phone = $8", (*asked, phone)
    elif search:
        of_person = OF_PERSON.format(phone="f.caller_phone", text="$8", digits="$9")
        asked = (*asked, *fold_person(search))
    rows = await db.fetch(LIST.format(of_person=of_person), *asked)
    return [_to_known(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_call(db: Db, owner_id: UUID, call_id: UUID) -> KnownCall | None:
    """Look up an owner's finished call."""
    row = await db.fetchrow(FIND, owner_id, call_id)
    return _to_known(row) if row else None


def _to_known(row: Row) -> KnownCall:
    contact = CallContact(row["contact_id"], row["contact_name"]) if row["contact_id"] else None
    return KnownCall(to_call(row), contact)
