"""All SQL of the audit chain."""

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import astuple

from openslot.agents.chain import ChainEnd, ChainLink
from openslot.agents.models import AuditStatus, CallRecord
from openslot.core.db import Db, Row

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
    """Read a record from its row."""
    values = {name: row[name] for name in FIELDS}
    return CallRecord(**{**values, "status": AuditStatus(row["status"])})


def _to_end(row: Row | None) -> ChainEnd:
    if row is None:
        raise LookupError("the end of the audit chain was deleted; openslot audit verify says more")
    return ChainEnd(records=row["records"], last=row["last"], signature=row["signature"])
