"""All SQL of calls."""

from datetime import datetime
from uuid import UUID

from openslot.domains.calls.models import Call, CallDirection, CallStatus, KnownCall
from openslot.domains.contacts.store import fold_person, write_named_by_phone, write_of_person
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.moments import Span
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

CALLS = Rows(Call, "calls c")
TOLD = CALLS.stored.without("id", "owner_id", "direction", "caller_phone", "vendor_id", "created_at", "connection_id")


@custom_plans
async def list_finished_calls(
    db: Db, owner_id: UUID, *, status: CallStatus | None, span: Span, limit: int, offset: int
) -> tuple[list[Call], int]:
    statement = f"""with found as not materialized (
            select * from calls where owner_id = $1 and status is not null and ($2::text is null or status = $2)
                and started_at >= coalesce($3::timestamptz, '-infinity')
                and started_at < coalesce($4::timestamptz, 'infinity'))
        select t.total, {CALLS.columns} from (select count(*) as total from found) t
        left join (select * from found order by started_at desc, id desc limit $5 offset $6) c on true
        order by c.started_at desc, c.id desc"""
    rows = await db.fetch(statement, owner_id, status, span.starts_at, span.ends_before, limit, offset)
    return [CALLS.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def insert_call(db: Db, call: Call) -> bool:
    """Write a new call; False if the vendor has reported it before."""
    made = await db.fetchval(f"{CALLS.insert()} on conflict do nothing returning id", *CALLS.values(call))
    return made is not None


async def lock_known(db: Db, call: Call) -> Call:
    """Read the call that a vendor has reported before, and lock it until the commit."""
    statement = f"""select {CALLS.columns} from calls c
        where c.vendor_id = $3 and (c.connection_id = $2 or c.owner_id = $1)
        order by c.connection_id = $2 desc nulls last limit 1 for update"""
    row = await db.fetchrow(statement, call.owner_id, call.connection_id, call.vendor_id)
    if row is None:
        raise LookupError(f"no call {call.vendor_id!r} of {call.owner_id}")
    return CALLS.read(row)


async def update_told(db: Db, call: Call) -> None:
    statement = f"update calls set {TOLD.assign(first=3)} where owner_id = $1 and id = $2"
    await db.execute(statement, call.owner_id, call.id, *TOLD.values(call))


async def add_recording(db: Db, connection_id: UUID, vendor_id: str, recording: bytes, *, now: datetime) -> bool:
    statement = """update calls set recording = coalesce(recording, $3),
            updated_at = case when recording is null then $4 else updated_at end
        where connection_id = $1 and vendor_id = $2"""
    return count_of(await db.execute(statement, connection_id, vendor_id, recording, now)) == 1


async def find_owner(db: Db, connection_id: UUID, vendor_id: str) -> UUID | None:
    statement = "select owner_id from calls where connection_id = $1 and vendor_id = $2"
    owner_id: UUID | None = await db.fetchval(statement, connection_id, vendor_id)
    return owner_id


async def delete_call(db: Db, owner_id: UUID, call_id: UUID) -> bool:
    statement = "delete from calls where owner_id = $1 and id = $2 and status is not null"
    return count_of(await db.execute(statement, owner_id, call_id)) == 1


CONTACT = write_named_by_phone("c.caller_phone")
KNOWN = Rows(KnownCall, "calls c", spread={"call": ""}, computed={"contact": CONTACT})


def _write_list(of_person: str) -> str:
    return f"""
with found as not materialized (
    select * from calls f where owner_id = $1 and status is not null and ($2::text is null or status = $2)
        and ($3::text is null or direction = $3)
        and started_at >= coalesce($4::timestamptz, '-infinity') and started_at < coalesce($5::timestamptz, 'infinity')
        and {of_person})
select t.total, {KNOWN.columns}
from (select count(*) as total from found) t
left join (select * from found order by started_at desc, id desc limit $6 offset $7) c on true
order by c.started_at desc, c.id desc"""


FIND = f"""
select {KNOWN.columns}
from calls c where c.owner_id = $1 and c.id = $2 and c.status is not null"""


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
    asked: tuple[object, ...] = (owner_id, status, direction, span.starts_at, span.ends_before, limit, offset)
    of_person = "true"
    if phone is not None:
        of_person, asked = "f.caller_phone = $8", (*asked, phone)
    elif search:
        of_person = write_of_person("f.caller_phone", text="$8", digits="$9")
        asked = (*asked, *fold_person(search))
    rows = await db.fetch(_write_list(of_person), *asked)
    return [KNOWN.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_call(db: Db, owner_id: UUID, call_id: UUID) -> KnownCall | None:
    row = await db.fetchrow(FIND, owner_id, call_id)
    return KNOWN.read(row) if row else None
