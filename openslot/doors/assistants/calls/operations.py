"""Calls of a user's assistant: scopes, the user's approval where it is wanted, the tool, and the log of every call."""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from openslot.domains.access import idempotency
from openslot.domains.access.models import AssistantEntry
from openslot.domains.accounts.models import User
from openslot.doors.assistants import activity, approvals, tools, writing
from openslot.doors.assistants.activity import CallInLog
from openslot.doors.assistants.schemas import DecidedCall
from openslot.doors.assistants.tools import AssistantTool, looks_up
from openslot.doors.mcp.approvals import ApprovalStatus, is_expired
from openslot.doors.mcp.protocol import ToolParams, unknown_tool
from openslot.doors.mcp.retries import run_once
from openslot.doors.mcp.tools import ToolResponse, error_body, naming, read_arguments, respond
from openslot.doors.oauth.errors import AssistantScopeRequired, AssistantsForbidden
from openslot.doors.oauth.operations import READ_ONLY
from openslot.doors.oauth.rules import allowed_by, with_implied, write_scopes
from openslot.platform.core.db import is_refused
from openslot.platform.core.errors import Refusal
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime, Work


@looks_up(None)
async def get_approval(
    work: Work, *, call: AssistantEntry, approval_id: Annotated[UUID, Meta(description="From the call that waits")]
) -> DecidedCall:
    """Get what became of a call that the user wanted to approve first: its status, and the result if it has run."""
    with naming("approvalId"):
        approval, answer = await approvals.find_state(work, call, approval_id)
    check_scope(call, BY_NAME[approval.tool])
    status = ApprovalStatus.EXPIRED if is_expired(approval, now=work.now) else approval.status
    return DecidedCall(
        approval_id=str(approval.id),
        tool=approval.tool,
        status=status,
        expires_at=iso(approval.expires_at),
        result=answer.content if answer else None,
        is_error=answer.is_error if answer else False,
    )


TOOLS = tuple(
    each for each in (*vars(tools).values(), *vars(writing).values(), get_approval) if isinstance(each, AssistantTool)
)
BY_NAME = {tool.name: tool for tool in TOOLS}


async def call_tool(runtime: Runtime, entry: AssistantEntry, called: ToolParams) -> ToolResponse:
    """Call a tool for the user and log it; what is refused is raised."""
    call = CallInLog(entry=entry, tool=called.name, given=called.given)
    try:
        return await _call(runtime, call)
    except Exception as fault:
        if is_refused(fault):
            # Nothing can be logged now.
            raise
        await activity.keep(runtime.work(entry.actor), call.end(at=runtime.clock(), fault=fault))
        raise


async def _call(runtime: Runtime, call: CallInLog) -> ToolResponse:
    entry, tool = call.entry, BY_NAME.get(call.tool)
    if tool is None:
        raise unknown_tool(call.tool, "tools/list names them all")
    check_scope(entry, tool)
    arguments = read_arguments(call.given, tool.arguments)
    if tool.is_read_only:
        work = runtime.work(entry.actor)
        answer = respond(await tool.run(work, entry, arguments))
        await activity.keep(work, call.end(at=work.now))
        return answer
    written = await runtime.run(entry.actor, lambda work: _ask_or_write(work, call, tool, arguments))
    if isinstance(written, Refusal):
        raise written
    return written


def check_scope(entry: AssistantEntry, tool: AssistantTool) -> None:
    """Refuse a tool whose scope the user has not allowed, with all that is missing for it."""
    if tool.scope is None or tool.scope in entry.scopes:
        return
    if not allowed_by(entry.policies, {tool.scope}):
        raise AssistantsForbidden(READ_ONLY)
    raise AssistantScopeRequired(write_scopes(with_implied({tool.scope}) - entry.scopes))


async def _ask_or_write(work: Work, call: CallInLog, tool: AssistantTool, arguments: Any) -> ToolResponse | Refusal:
    """Write, or have the user asked; a refusal is raised after the commit, which keeps what waits."""
    if not approvals.must_ask(call.entry, tool):
        return await _write(work, call, tool, arguments)
    asked = await approvals.ask(work, call.entry, tool, call.given)
    if isinstance(asked, ToolResponse):
        await activity.keep(work, call.end(at=work.now))
    return asked


async def _write(work: Work, call: CallInLog, tool: AssistantTool, arguments: Any) -> ToolResponse:
    """Change something and log it together."""
    made: str | None = None

    async def act() -> ToolResponse:
        nonlocal made
        result = await tool.run(work, call.entry, arguments)
        made = None if tool.is_idempotent else getattr(result, "id", None)
        return respond(result)

    answer = await run_once(work, _read_request(call.entry, tool, arguments), ToolResponse, act)
    await activity.keep(work, call.end(at=work.now, made=made))
    return answer


def _read_request(entry: AssistantEntry, tool: AssistantTool, arguments: Any) -> idempotency.RetriedRequest | None:
    """Name a call that must not be done twice, if the assistant has given it a key."""
    if tool.is_idempotent or arguments.idempotency_key is None:
        return None
    return idempotency.read_request(
        caller=str(entry.grant_id),
        method="CALL",
        path=tool.name,
        key=arguments.idempotency_key,
        body=msgspec.json.encode(arguments),
    )


async def approve_waiting_call(work: Work, user: User, approval_id: UUID) -> bool:
    """Carry a call out that waits for its user, once, and return whether the tool has done it.

    It belongs in one transaction, so that the decision, what the tool has changed and the log are committed together.
    """
    approval, given = await approvals.lock_pending(work, user, approval_id)
    entry = await approvals.enter_again(work, user, approval)
    call = CallInLog(entry=entry, tool=approval.tool, given=given)
    try:
        async with work.attempt():
            answer = await _carry_out(work.acting_as(entry.actor), call, given)
    except Refusal as refusal:
        # A refusal of the tool is its result, and uses the approval up.
        answer = respond(error_body(refusal), is_error=True)
        await activity.keep(work, call.end(at=work.now, fault=refusal))
    await approvals.keep_result(work, approval, answer)
    return not answer.is_error


async def _carry_out(work: Work, call: CallInLog, given: Mapping[str, object]) -> ToolResponse:
    tool = BY_NAME[call.tool]
    check_scope(call.entry, tool)
    answer = await _write(work, call, tool, read_arguments(given, tool.arguments))
    work.check_nothing_is_staged()
    return answer
