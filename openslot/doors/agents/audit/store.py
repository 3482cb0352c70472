"""All SQL of the audit chain, of what it shows by day, and of the search in it and in the product's own events."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import astuple

from openslot.doors.agents.emails.store import LISTED
from openslot.doors.agents.models import AgentEmail, AuditFilter, CallRecord, ChainEnd, ChainLink, RecordedEvent
from openslot.platform.core.db import Db, Row
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

FIELDS = {
    "id": "uuid",
    "at": "timestamptz",
    "agent": "text",
    "key_id": "uuid",
    "tool": "text",
    "scope": "text",
    "tier": "text",
    "input_hash": "text",
    "status": "text",
    "error_code": "integer",
    "latency_ms": "integer",
    "cost_micros": "bigint",
    "approval_id": "uuid",
    "approver": "text",
    "request_id": "text",
    "target_type": "text",
    "target_id": "text",
}
COLUMNS = ", ".join(FIELDS)
CALLS, ENDS = Rows(CallRecord, "agent_calls"), Rows(ChainEnd, "agent_chain")
EVENTS = Rows(RecordedEvent, "events e")
# A time that Python can't read was not written by us; it must not keep the other records from being verified.
READABLE = ", ".join(
    "case when at >= '0001-01-02' and at < '9999-12-31' then at end as at" if name == "at" else name for name in FIELDS
)
_ARRAYS = ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(("bigint", "bytea", *FIELDS.values()), 7))
# The row of the chain's end is locked here and nowhere earlier: it is the last statement before the commit.
APPEND = f"""
with moved as (
    update agent_chain set records = $4, last = $5, signature = $6
    where records = $1 and last = $2 and signature is not distinct from $3
    returning true
)
insert into agent_calls (no, signature, {COLUMNS})
select r.* from moved, unnest({_ARRAYS}) as r"""


async def append(db: Db, links: Sequence[ChainLink], *, before: ChainEnd, after: ChainEnd) -> bool:
    """Append records if the chain still has this end; False if others have appended some meanwhile."""
    rows = [(link.no, link.signature, *astuple(link.record)) for link in links]
    columns = (list(column) for column in zip(*rows, strict=True))
    tag = await db.execute(APPEND, *astuple(before), *astuple(after), *columns)
    return not tag.endswith(" 0")


async def lock_end(db: Db) -> ChainEnd:
    """Read the end of the chain, and keep it as it is until the end of the transaction."""
    row = await db.fetchrow(f"select {ENDS.columns} from agent_chain for update")
    if row is None:
        raise LookupError("the end of the audit chain was deleted; openslot audit verify says more")
    return ENDS.read(row)


async def find_end(db: Db) -> ChainEnd | None:
    """Read the end of the chain; None if somebody has deleted it."""
    row = await db.fetchrow(f"select {ENDS.columns} from agent_chain")
    return ENDS.read(row) if row is not None else None


async def list_links(db: Db, *, behind: int, limit: int) -> list[ChainLink]:
    """List the records behind a number, in order, as they are: the chain tells whether a value is one of ours."""
    statement = f"select no, signature, {READABLE} from agent_calls where no > $1 order by no limit $2"
    rows = await db.fetch(statement, behind, limit)
    return [
        ChainLink(no=row["no"], signature=row["signature"], record=CallRecord(**{name: row[name] for name in FIELDS}))
        for row in rows
    ]


async def list_in_front(db: Db, *, limit: int) -> list[tuple[int, UUID]]:
    """List what stands in front of the first record, where nothing is ever written."""
    rows = await db.fetch("select no, id from agent_calls where no < 1 order by no limit $1", limit)
    return [(row["no"], row["id"]) for row in rows]


async def insert_begun(db: Db, call_id: UUID, record: bytes, *, at: datetime) -> None:
    statement = "insert into agent_calls_begun (id, at, record) values ($1, $2, $3)"
    await db.execute(statement, call_id, at, record.decode())


async def delete_begun(db: Db, call_id: UUID) -> None:
    await db.execute("delete from agent_calls_begun where id = $1", call_id)


async def take_abandoned(db: Db, *, before: datetime, limit: int) -> list[str]:
    """Delete the notes of calls that began long ago and have not ended, and return the records that they hold."""
    statement = """delete from agent_calls_begun where id = any(array(
            select id from agent_calls_begun where at <= $1 order by at limit $2 for update skip locked))
        returning record"""
    return [row["record"] for row in await db.fetch(statement, before, limit)]


@custom_plans
async def list_calls(db: Db, wanted: AuditFilter, *, offset: int, limit: int) -> list[CallRecord]:
    """List calls, newest first; each filter has an index that also gives the order."""
    statement = f"""select {CALLS.columns} from agent_calls
        where ($1::text is null or agent = $1) and ($2::text is null or tool = $2)
          and ($3::text is null or status = $3) and ($4::text is null or target_id = $4)
          and ($5::timestamptz is null or at >= $5) and ($6::timestamptz is null or at < $6)
        order by at desc, id desc limit $7 offset $8"""
    about = str(wanted.user_id) if wanted.user_id is not None else None
    rows = await db.fetch(
        statement, wanted.agent, wanted.tool, wanted.status, about, *astuple(wanted.span), limit, offset
    )
    return [CALLS.read(row) for row in rows]


ACTIVITY = """
select agent, (at at time zone 'UTC')::date as on_date, 'call' as kind, status, count(*) as count
from agent_calls where at >= $1 and ($2::text is null or agent = $2) group by 1, 2, 4
union all
select requester, (created_at at time zone 'UTC')::date, 'approval', status, count(*)
from approvals where created_at >= $1 and ($2::text is null or requester = $2) group by 1, 2, 4
union all
select agent, on_date, 'spent', '', spent_micros
from agent_spend where on_date >= ($1 at time zone 'UTC')::date and ($2::text is null or agent = $2)"""


@custom_plans
async def list_activity(db: Db, *, since: datetime, agent: str | None) -> list[Row]:
    """Count what every agent did, or one, by UTC day: calls and approvals by their status, and what was spent."""
    return await db.fetch(ACTIVITY, since, agent)


LATEST = f"""
select (select json_agg(c) from (select {CALLS.columns} from agent_calls
            where agent = $1 order by at desc, id desc limit $2) c) as calls,
       (select json_agg(m) from (select {LISTED.columns} from agent_emails
            where agent = $1 order by at desc, id desc limit $2) m) as emails"""


async def list_latest(db: Db, agent: str, *, limit: int) -> tuple[list[CallRecord], list[AgentEmail]]:
    """List the latest calls and emails of an agent, newest first, by one statement."""
    row = await db.fetchrow(LATEST, agent, limit)
    calls, emails = (row["calls"], row["emails"]) if row is not None else (None, None)
    return (
        msgspec.json.decode(calls or "[]", type=list[CallRecord]),
        msgspec.json.decode(emails or "[]", type=list[AgentEmail]),
    )


@custom_plans
async def list_events(db: Db, wanted: AuditFilter, *, offset: int, limit: int) -> list[RecordedEvent]:
    """List events, newest first; those of a user are the user's own and those about the user."""
    if wanted.user_id is None:
        rows = await _select_events(db, wanted, "$2::uuid is null", "e.at desc, e.no desc", offset=offset, limit=limit)
        return [EVENTS.read(row) for row in rows]
    found: dict[UUID, Row] = {}
    for owner in ("e.tenant_id = $2", "e.subject_id = $2"):
        rows = await _select_events(db, wanted, owner, "e.no desc", offset=0, limit=offset + limit)
        found.update({row["id"]: row for row in rows})
    newest = sorted(found.values(), key=lambda row: (row["at"], row["no"]), reverse=True)
    return [EVENTS.read(row) for row in newest[offset : offset + limit]]


async def _select_events(db: Db, wanted: AuditFilter, owner: str, order: str, *, offset: int, limit: int) -> list[Row]:
    statement = f"""select {EVENTS.columns}, e.no from events e
        where ($1::text is null or e.actor ->> 'agent' = $1) and {owner}
          and ($3::timestamptz is null or e.at >= $3) and ($4::timestamptz is null or e.at < $4)
        order by {order} limit $5 offset $6"""
    return await db.fetch(statement, wanted.agent, wanted.user_id, *astuple(wanted.span), limit, offset)
