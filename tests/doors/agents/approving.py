"""A tool of tier T3 that leaves a mark, and a gate that uses approvals as the tool server does."""

from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any
from uuid import UUID

import pytest
from msgspec import Struct, convert

from openslot.doors.agents.approvals import operations as approvals
from openslot.doors.agents.approvals.operations import ApprovalDecision, Verdict
from openslot.doors.agents.errors import ApprovalRefused, ApprovalRequired
from openslot.doors.agents.models import Tier, ToolCall
from openslot.doors.agents.registry import tool
from openslot.doors.agents.schemas import Decided
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.errors import Conflict, Refusal
from openslot.platform.core.work import Runtime, Work
from tests.support.shared_database import SharedDatabase, sharing_with

ARGUMENTS = {"userId": "7", "reason": "asked for it"}


@pytest.fixture(scope="module")
async def shared_database(postgres: str) -> AsyncIterator[SharedDatabase]:
    """Share a database that has a table for the marks."""
    async with sharing_with(postgres, "create table marks (agent text, user_id text)") as shared:
        yield shared


class MarkWanted(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the tool is told."""

    user_id: str
    reason: str


class Marked(Decided, frozen=True, kw_only=True, rename="camel"):
    """What the tool answers."""

    user_id: str | None = None


class BrokenError(Exception):
    """A process that dies in the middle."""


@tool(scope="users:write", tier=Tier.T3)
async def mark(work: Work, call: ToolCall, arguments: MarkWanted) -> Marked:
    """Leave a mark."""
    await work.db.execute("insert into marks values ($1, $2)", call.caller.agent.slug, arguments.user_id)
    if arguments.reason == "refused":
        raise Conflict("This can't be done")
    if arguments.reason == "crash":
        raise BrokenError
    return Marked(user_id=arguments.user_id)


@tool(scope="users:write", tier=Tier.T3)
async def other_mark(work: Work, call: ToolCall, arguments: MarkWanted) -> Marked:
    """Leave another mark."""
    return await mark.run(work, call, arguments)  # type: ignore[return-value]


async def send(
    runtime: Runtime,
    call: ToolCall,
    arguments: Mapping[str, object] = ARGUMENTS,
    *,
    approval_id: UUID | None = None,
    decision: ApprovalDecision | None = None,
    what: Any = mark,
) -> Verdict:
    """Make a call of the tool, and return its verdict with what was answered."""
    required = None
    async with runtime.transaction(SYSTEM) as work:
        try:
            verdict = await approvals.require_approval(
                work, call, what, arguments=arguments, approval_id=approval_id, decision=decision, showing=()
            )
        except ApprovalRequired as refusal:
            required = refusal
        else:
            return await _run(work, call, what, verdict, arguments)
    raise required


async def ask(runtime: Runtime, call: ToolCall, arguments: Mapping[str, object] = ARGUMENTS) -> UUID:
    """Make a call that has to wait, and return the id of its approval."""
    try:
        await send(runtime, call, arguments)
    except ApprovalRequired as refusal:
        return UUID(str(refusal.data["approvalId"]))
    raise AssertionError("the call did not have to wait")


async def marks(runtime: Runtime) -> list[tuple[str, str]]:
    """List the marks that calls have left."""
    return [(row["agent"], row["user_id"]) for row in await runtime.pool.fetch("select * from marks")]


async def row_of(runtime: Runtime, approval_id: UUID) -> dict[str, object]:
    """Read an approval as it is stored."""
    row = await runtime.pool.fetchrow("select * from approvals where id = $1", approval_id)
    assert row is not None
    return dict(row)


async def refused(call: Awaitable[object]) -> str:
    """Make a call that must be refused, and return why."""
    with pytest.raises(ApprovalRefused) as refusal:
        await call
    return str(refusal.value.data["cause"])


async def _run(work: Work, call: ToolCall, what: Any, verdict: Verdict, arguments: Mapping[str, object]) -> Verdict:
    if verdict.run_as is None:
        return verdict
    run_as = ToolCall(id=call.id, caller=verdict.run_as, request_id=call.request_id)
    is_error = False
    try:
        async with work.attempt():
            result: object = await what.run(work, run_as, convert(arguments, MarkWanted))
    except Refusal as refusal:
        result, is_error = {"error": refusal.message}, True
    await approvals.keep_approved_result(work, verdict, approvals.name_approval(verdict, result), is_error=is_error)
    return verdict
