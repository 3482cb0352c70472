"""All SQL of assistants' calls: the log that users read, and the calls that wait for their approval."""

from datetime import datetime
from uuid import UUID

from openslot.doors.mcp.approvals import ApprovalStatus
from openslot.doors.oauth.models import AssistantApproval, LoggedCall
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

APPROVALS = Rows(AssistantApproval, "assistant_approvals a")
CALLS = Rows(LoggedCall, "assistant_calls c")
NEW_CALL = CALLS.stored.without("no")
INSERT_CALL = f"insert into assistant_calls ({NEW_CALL.columns}) values ({NEW_CALL.parameters()})"
# The first of the two numbers of an advisory lock.
REQUESTS = 29


async def insert_call(db: Db, call: LoggedCall) -> None:
    await db.execute(INSERT_CALL, *NEW_CALL.values(call))


async def list_calls(db: Db, user_id: UUID, *, before_no: int | None, limit: int) -> list[LoggedCall]:
    """List the calls of a user's assistants, newest first."""
    statement = f"""select {CALLS.columns} from assistant_calls c
        where c.user_id = $1 and ($2::bigint is null or c.no < $2) order by c.no desc limit $3"""
    return [CALLS.read(row) for row in await db.fetch(statement, user_id, before_no, limit)]


async def find_asked(
    db: Db, grant_id: UUID, tool: str, arguments_hash: str
) -> tuple[AssistantApproval, bytes | None, bool] | None:
    """Find what became of the same call, unless the assistant was told; under a lock, so that only one is added."""
    call = f"{grant_id} {tool} {arguments_hash}"
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext($2))", REQUESTS, call)
    statement = f"""select {APPROVALS.columns}, a.result, a.is_error from assistant_approvals a
        where a.grant_id = $1 and a.tool = $2 and a.arguments_hash = $3 and a.told_at is null
        order by a.created_at desc limit 1"""
    row = await db.fetchrow(statement, grant_id, tool, arguments_hash)
    return (APPROVALS.read(row), row["result"], bool(row["is_error"])) if row else None


async def count_pending(db: Db, user_id: UUID, *, now: datetime) -> int:
    statement = """select count(*) from assistant_approvals
        where user_id = $1 and status = 'pending' and expires_at > $2"""
    return int(await db.fetchval(statement, user_id, now))


async def insert_approval(db: Db, approval: AssistantApproval, *, arguments: bytes) -> None:
    await db.execute(APPROVALS.insert("arguments"), *APPROVALS.values(approval), arguments)


async def find_approval(
    db: Db, user_id: UUID, approval_id: UUID, *, lock: bool = False
) -> tuple[AssistantApproval, bytes | None] | None:
    """Read an approval with its sealed arguments; if it is locked, nobody else decides it before the commit."""
    statement = f"""select {APPROVALS.columns}, a.arguments from assistant_approvals a
        where a.user_id = $1 and a.id = $2{" for update" if lock else ""}"""
    row = await db.fetchrow(statement, user_id, approval_id)
    return (APPROVALS.read(row), row["arguments"]) if row else None


async def find_result(db: Db, grant_id: UUID, approval_id: UUID) -> tuple[AssistantApproval, bytes | None, bool] | None:
    statement = f"""select {APPROVALS.columns}, a.result, a.is_error from assistant_approvals a
        where a.grant_id = $1 and a.id = $2"""
    row = await db.fetchrow(statement, grant_id, approval_id)
    return (APPROVALS.read(row), row["result"], bool(row["is_error"])) if row else None


async def mark_told(db: Db, approval_id: UUID, *, now: datetime) -> None:
    await db.execute("update assistant_approvals set told_at = $2 where id = $1 and told_at is null", approval_id, now)


async def decide(
    db: Db,
    approval_id: UUID,
    status: ApprovalStatus,
    *,
    now: datetime,
    reason: str | None = None,
    result: bytes | None = None,
    is_error: bool | None = None,
) -> bool:
    """Write the decision and erase the arguments; return False if it was decided before."""
    statement = """update assistant_approvals set status = $2, decided_at = $3, reason = $4, result = $5, is_error = $6,
            arguments = null
        where id = $1 and status = 'pending'"""
    return count_of(await db.execute(statement, approval_id, status, now, reason, result, is_error)) == 1


async def expire_call_approvals(db: Db, *, now: datetime, limit: int) -> int:
    """Close approvals that nobody has decided in time; those that somebody decides right now are left out."""
    statement = """update assistant_approvals set status = 'expired', decided_at = $1, arguments = null
        where id = any(array(
            select id from assistant_approvals where status = 'pending' and expires_at <= $1
            order by expires_at limit $2 for update skip locked))"""
    return count_of(await db.execute(statement, now, limit))


async def list_approvals(
    db: Db, user_id: UUID, *, is_waiting: bool, now: datetime, limit: int
) -> list[AssistantApproval]:
    """List what waits for a user, oldest first, or what was decided, newest first."""
    if is_waiting:
        narrowed, order = "a.status = 'pending' and a.expires_at > $2", "a.created_at"
    else:
        narrowed, order = "(a.status <> 'pending' or a.expires_at <= $2)", "a.created_at desc"
    statement = f"""select {APPROVALS.columns} from assistant_approvals a
        where a.user_id = $1 and {narrowed} order by {order}, a.id limit $3"""
    return [APPROVALS.read(row) for row in await db.fetch(statement, user_id, now, limit)]


async def erase_call_results(db: Db, *, before: datetime, limit: int) -> int:
    statement = """update assistant_approvals set result = null where id = any(array(
            select id from assistant_approvals where result is not null and decided_at <= $1
            order by decided_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))
