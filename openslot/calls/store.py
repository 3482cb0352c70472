"""All SQL of calls."""

from uuid import UUID

from openslot.calls.models import Call, CallDirection, CallStatus, KnownCall
from openslot.contacts.store import NAMED_BY_PHONE, OF_PERSON, fold_person
from openslot.core.db import Db
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans
from openslot.core.rows import Rows

CALLS = Rows(Call, "calls c")
ENDING = CALLS.stored.only("status", "ended_at", "duration_seconds", "updated_at")


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
    statement = f"""{CALLS.insert()}
        on conflict (owner_id, vendor_id) where vendor_id is not null do nothing returning id"""
    made = await db.fetchval(statement, *CALLS.values(call))
    return made is not None


async def lock_call_of_vendor(db: Db, owner_id: UUID, vendor_id: str) -> Call | None:
    """Look up the call that a vendor knows by this id, and lock it until the commit."""
    row = await db.fetchrow(
        f"select {CALLS.columns} from calls c where owner_id = $1 and vendor_id = $2 for update", owner_id, vendor_id
    )
    return CALLS.read(row) if row else None


async def update_ending(db: Db, call: Call) -> None:
    statement = f"update calls set {ENDING.assign(first=3)} where owner_id = $1 and id = $2"
    await db.execute(statement, call.owner_id, call.id, *ENDING.values(call))


CONTACT = NAMED_BY_PHONE.format(phone="c.caller_phone")
KNOWN = Rows(KnownCall, "calls c", spread={"call": ""}, computed={"contact": CONTACT})
LIST = f"""
with found as not materialized (
    select * from calls f where owner_id = $1 and status is not null and ($2::text is null or status = $2)
        and ($3::text is null or direction = $3)
        and started_at >= coalesce($4::timestamptz, '-infinity') and started_at < coalesce($5::timestamptz, 'infinity')
        and {{of_person}})
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
        of_person = OF_PERSON.format(phone="f.caller_phone", text="$8", digits="$9")
        asked = (*asked, *fold_person(search))
    rows = await db.fetch(LIST.format(of_person=of_person), *asked)
    return [KNOWN.read(row) for row in rows if row["id"] is not None], rows[0]["total"]


async def find_call(db: Db, owner_id: UUID, call_id: UUID) -> KnownCall | None:
    row = await db.fetchrow(FIND, owner_id, call_id)
    return KNOWN.read(row) if row else None
