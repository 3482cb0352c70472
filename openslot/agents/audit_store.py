"""All SQL of the audit chain and of the search in it and in the product's own events."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec.structs import astuple

from openslot.agents.chain import ChainEnd, ChainLink
from openslot.agents.models import AuditFilter, AuditStatus, CallCounts, CallRecord, RecordedEvent
from openslot.core.actor import Actor
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans

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
# A time that Python can't read was not written by us; it must not keep the other records from being verified.
READABLE = ", ".join(
    "case when at >= '0001-01-02' and at < '9999-12-31' then at end as at" if name == "at" else name for name in FIELDS
)
_ARRAYS = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(("bigint", "bytea", *FIELDS.values()), 7))
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
    tag = await db.execute(
        APPEND,
        before.records,
        before.last,
        before.signature,
        after.records,
        after.last,
        after.signature,
        *(list(column) for column in zip(*rows, strict=True)),
    )
    return not tag.endswith(" 0")


async def lock_end(db: Db) -> ChainEnd:
    """Read the end of the chain, and keep it as it is until the end of the transaction."""
    return _to_end(await db.fetchrow("select records, last, signature from agent_chain for update"))


async def find_end(db: Db) -> ChainEnd | None:
    """Read the end of the chain; None if somebody has deleted it."""
    row = await db.fetchrow("select records, last, signature from agent_chain")
    return _to_end(row) if row is not None else None


async def list_links(db: Db, *, behind: int, limit: int) -> list[ChainLink]:
    """List the records behind a number, in order, as they are: the chain tells whether a value is one of ours."""
    rows = await db.fetch(
        f"select no, signature, {READABLE} from agent_calls where no > $1 order by no limit $2", behind, limit
    )
    return [
        ChainLink(no=row["no"], signature=row["signature"], record=CallRecord(**{name: row[name] for name in FIELDS}))
        for row in rows
    ]


async def list_in_front(db: Db, *, limit: int) -> list[tuple[int, UUID]]:
    """List what stands in front of the first record, where nothing is ever written."""
    rows = await db.fetch("select no, id from agent_calls where no < 1 order by no limit $1", limit)
    return [(row["no"], row["id"]) for row in rows]


def to_record(row: Row) -> CallRecord:
    values = {name: row[name] for name in FIELDS}
    return CallRecord(**{**values, "status": AuditStatus(row["status"])})


def _to_end(row: Row | None) -> ChainEnd:
    if row is None:
        raise LookupError("the end of the audit chain was deleted; openslot audit verify says more")
    return ChainEnd(records=row["records"], last=row["last"], signature=row["signature"])


EVENT_COLUMNS = "e.id, e.no, e.type, e.at, e.actor, e.tenant_id, e.subject_kind, e.subject_id"

# How calls end that nobody has refused and that have not failed.
GOOD = [AuditStatus.OK, AuditStatus.APPROVED, AuditStatus.PENDING_APPROVAL]


@custom_plans
async def list_calls(db: Db, wanted: AuditFilter, *, offset: int, limit: int) -> list[CallRecord]:
    """List calls, newest first; each filter has an index that also gives the order."""
    asked = _Where()
    asked.add("agent = {}", wanted.agent)
    asked.add("tool = {}", wanted.tool)
    asked.add("status = {}", wanted.status)
    asked.add("target_id = {}", str(wanted.user_id) if wanted.user_id is not None else None)
    asked.add_span("at", wanted.span)
    page = asked.add_page(offset=offset, limit=limit)
    statement = f"select {COLUMNS} from agent_calls {asked} order by at desc, id desc {page}"
    return [to_record(row) for row in await db.fetch(statement, *asked.values)]


@custom_plans
async def count_calls(db: Db, *, since: datetime) -> dict[str, CallCounts]:
    statement = """select agent, count(*) as every, count(*) filter (where status <> all($2)) as failed
        from agent_calls where at >= $1 group by agent"""
    rows = await db.fetch(statement, since, GOOD)
    return {row["agent"]: CallCounts(all=row["every"], failed=row["failed"]) for row in rows}


@custom_plans
async def list_events(db: Db, wanted: AuditFilter, *, offset: int, limit: int) -> list[RecordedEvent]:
    """List events, newest first; those of a user are the user's own and those about the user."""
    if wanted.user_id is None:
        return [_to_event(row) for row in await _select_events(db, wanted, None, offset=offset, limit=limit)]
    found: dict[UUID, Row] = {}
    for owner in ("e.tenant_id = {}", "e.subject_id = {}"):
        rows = await _select_events(db, wanted, owner, offset=0, limit=offset + limit)
        found.update({row["id"]: row for row in rows})
    newest = sorted(found.values(), key=lambda row: (row["at"], row["no"]), reverse=True)
    return [_to_event(row) for row in newest[offset : offset + limit]]


async def _select_events(db: Db, wanted: AuditFilter, owner: str | None, *, offset: int, limit: int) -> list[Row]:
    asked = _Where()
    asked.add("e.actor ->> 'agent' = {}", wanted.agent)
    if owner is not None:
        asked.add(owner, wanted.user_id)
    asked.add_span("e.at", wanted.span)
    order = "e.at desc, e.no desc" if owner is None else "e.no desc"
    page = asked.add_page(offset=offset, limit=limit)
    return await db.fetch(f"select {EVENT_COLUMNS} from events e {asked} order by {order} {page}", *asked.values)


class _Where:
    """The conditions of a statement, with their values."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._conditions: list[str] = []

    def add(self, condition: str, value: object) -> None:
        if value is not None:
            self.values.append(value)
            self._conditions.append(condition.format(f"${len(self.values)}"))

    def add_span(self, column: str, span: Span) -> None:
        self.add(f"{column} >= {{}}", span.starts_at)
        self.add(f"{column} < {{}}", span.ends_before)

    def add_page(self, *, offset: int, limit: int) -> str:
        self.values += [limit, offset]
        return f"limit ${len(self.values) - 1} offset ${len(self.values)}"

    def __str__(self) -> str:
        return f"where {' and '.join(self._conditions)}" if self._conditions else ""


def _to_event(row: Row) -> RecordedEvent:
    return RecordedEvent(
        id=row["id"],
        type=row["type"],
        at=row["at"],
        actor=msgspec.json.decode(row["actor"], type=Actor),
        tenant_id=row["tenant_id"],
        subject_kind=row["subject_kind"],
        subject_id=row["subject_id"],
    )
