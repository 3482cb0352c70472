"""All SQL of the audit search: the agents' calls, and the product's own events."""

from datetime import datetime
from uuid import UUID

import msgspec

from openslot.agents.audit_store import COLUMNS, to_record
from openslot.agents.models import AuditFilter, AuditStatus, CallCounts, CallRecord, RecordedEvent
from openslot.core.actor import Actor
from openslot.core.db import Db, Row
from openslot.core.moments import Span
from openslot.core.query_plans import custom_plans

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
    """Count calls by agent."""
    rows = await db.fetch(
        """select agent, count(*) as every, count(*) filter (where status <> all($2)) as failed
        from agent_calls where at >= $1 group by agent""",
        since,
        GOOD,
    )
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
