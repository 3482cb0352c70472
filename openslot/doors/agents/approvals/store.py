"""All SQL of approvals."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.doors.agents.rules import Approval, AskedCall
from openslot.doors.mcp.approvals import ApprovalStatus
from openslot.platform.core.db import Db, Row, count_of
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

APPROVALS = Rows(Approval, "approvals")
# The first of the two numbers of an advisory lock.
REQUESTS = 23

# An approver reads what the approved call answers, too.
HAS_READ = """
with last as (
    select coalesce(max(decided_at), '-infinity') as at from approvals
    where requester = $1 and approver = $3 and status = 'approved')
select exists (
    select from agent_calls c, last
    where c.agent = $1 and c.tool = any($2) and c.status = 'ok' and c.at >= last.at
) or exists (
    select from approvals a, last
    where a.approver = $1 and a.tool = any($2) and a.status = 'approved' and a.decided_at >= last.at)"""
REQUESTER = """
select g.slug, g.autonomy_level, g.email_level, k.scopes
from agent_keys k join agents g on g.slug = k.agent
where k.id = $1 and g.slug = $2 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)"""


async def find_pending(db: Db, asked: AskedCall, *, now: datetime) -> Approval | None:
    """Find the approval that the same call waits for, under a lock until the commit: only one is ever added."""
    call = f"{asked.agent} {asked.tool} {asked.arguments_hash}"
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext($2))", REQUESTS, call)
    statement = f"""select {APPROVALS.columns} from approvals where requester = $1 and tool = $2 and arguments_hash = $3
        and status = 'pending' and expires_at > $4"""
    row = await db.fetchrow(statement, asked.agent, asked.tool, asked.arguments_hash, now)
    return APPROVALS.read(row) if row else None


async def has_read(db: Db, agent: str, tools: Sequence[str], *, person: str) -> bool:
    """Return whether one of these tools has answered an agent since a person last approved a call of it."""
    return bool(await db.fetchval(HAS_READ, agent, tools, person))


async def insert(db: Db, approval: Approval) -> None:
    await db.execute(APPROVALS.insert(), *APPROVALS.values(approval))


async def lock(db: Db, approval_id: UUID) -> Approval | None:
    """Read an approval; nobody else decides it before the commit."""
    row = await db.fetchrow(f"select {APPROVALS.columns} from approvals where id = $1 for update", approval_id)
    return APPROVALS.read(row) if row else None


async def find_with_result(db: Db, approval_id: UUID) -> tuple[Approval, bytes | None, bool] | None:
    """Look an approval up, with its sealed result and whether that is an error."""
    row = await db.fetchrow(f"select {APPROVALS.columns}, result, is_error from approvals where id = $1", approval_id)
    return (APPROVALS.read(row), row["result"], bool(row["is_error"])) if row else None


async def decide(
    db: Db,
    approval_id: UUID,
    status: ApprovalStatus,
    approver: str | None,
    *,
    now: datetime,
    reason: str | None = None,
    result: bytes | None = None,
    is_error: bool | None = None,
) -> bool:
    """Write the decision and erase the arguments; return False if it was decided before."""
    statement = """
        update approvals set status = $2, approver = $3, decided_at = $4, result = $5, is_error = $6, reason = $7,
            arguments = null
        where id = $1 and status = 'pending'"""
    return count_of(await db.execute(statement, approval_id, status, approver, now, result, is_error, reason)) == 1


async def lock_expired(db: Db, *, now: datetime, limit: int) -> list[Approval]:
    """List approvals that nobody has decided in time, locked; those that somebody decides right now are left out."""
    statement = f"""select {APPROVALS.columns} from approvals where status = 'pending' and expires_at <= $1
        order by expires_at limit $2 for update skip locked"""
    return [APPROVALS.read(row) for row in await db.fetch(statement, now, limit)]


@custom_plans
async def list_pending(db: Db, ids: Sequence[UUID] | None, *, now: datetime, limit: int) -> list[Approval]:
    """List approvals that wait, or those of them with these ids, oldest first."""
    statement = f"""select {APPROVALS.columns} from approvals where status = 'pending' and expires_at > $2
        and ($1::uuid[] is null or id = any($1)) order by created_at, id limit $3"""
    return [APPROVALS.read(row) for row in await db.fetch(statement, ids, now, limit)]


async def list_decided(db: Db, *, limit: int) -> list[Approval]:
    statement = f"""select {APPROVALS.columns} from approvals where status <> 'pending'
        order by created_at desc, id desc limit $1"""
    return [APPROVALS.read(row) for row in await db.fetch(statement, limit)]


async def find_requester(db: Db, approval: Approval, *, now: datetime) -> Row | None:
    """Look up the agent and the scopes of the key that asked, if the key is still active."""
    return await db.fetchrow(REQUESTER, approval.key_id, approval.requester, now)


async def erase_approval_results(db: Db, *, before: datetime, limit: int) -> int:
    statement = """update approvals set result = null where id = any(array(
            select id from approvals where result is not null and decided_at <= $1 order by decided_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))


async def delete_old_approvals(db: Db, *, before: datetime, limit: int) -> int:
    statement = """delete from approvals where id = any(array(
            select id from approvals where created_at <= $1 and status <> 'pending' order by created_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))
