"""SQL of the calls that a host sees."""

from uuid import UUID

from openslot.calls.models import CallContact, CallDirection, CallStatus, KnownCall
from openslot.calls.store import to_call
from openslot.contacts.phone_store import OF_PERSON, fold_person
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans

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
