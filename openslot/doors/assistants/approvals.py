"""Approvals: a call that its user wants to be asked about waits until the user has decided, and runs once."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import msgspec

from openslot.domains.access.door import assistant_actor
from openslot.domains.access.models import AsksFirst, AssistantEntry
from openslot.domains.accounts.models import User
from openslot.doors.assistants.calls import store
from openslot.doors.assistants.tools import AssistantTool
from openslot.doors.mcp.approvals import (
    ApprovalStatus,
    find_obstacle,
    hash_arguments,
    is_expired,
    open_result,
    seal_result,
)
from openslot.doors.mcp.errors import NotApproved, WaitsForApproval
from openslot.doors.mcp.tools import ToolResponse, respond
from openslot.doors.oauth import operations
from openslot.doors.oauth.errors import (
    AssistantApprovalNotFound,
    AssistantNotFound,
    AssistantsForbidden,
    CallDecided,
    TooManyApprovals,
)
from openslot.doors.oauth.events import AssistantApprovalRequested
from openslot.doors.oauth.models import AssistantApproval, AssistantScope
from openslot.doors.oauth.rules import allowed_by, with_implied
from openslot.platform.core.ids import new_id
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work

# People read their mail in the evening.
LASTS = timedelta(hours=24)
MAX_WAITING = 20
ARGUMENTS = "arguments of assistants"
LISTED = 50
AGAIN = "Call the tool again to ask the user once more"


def must_ask(entry: AssistantEntry, tool: AssistantTool) -> bool:
    """Return whether the user wants to approve a call of this tool."""
    if entry.asks_first is AsksFirst.WRITES:
        return not tool.is_read_only
    return entry.asks_first is AsksFirst.DESTRUCTIVE and tool.is_destructive


async def ask(
    work: Work, entry: AssistantEntry, tool: AssistantTool, given: Mapping[str, object]
) -> ToolResponse | WaitsForApproval | NotApproved:
    """Answer what became of the same call, or write down that this one waits; commit before a refusal is raised."""
    arguments_hash = hash_arguments(given)
    found = await store.find_asked(work.db, entry.grant_id, tool.name, arguments_hash)
    if found is None:
        return _wait(work, await _request(work, entry, tool, given, arguments_hash))
    approval, sealed, is_error = found
    if approval.status is ApprovalStatus.PENDING and not is_expired(approval, now=work.now):
        return _wait(work, approval)
    await store.mark_told(work.db, approval.id, now=work.now)
    if approval.status is ApprovalStatus.APPROVED:
        return _answer(work, approval, sealed, is_error=is_error)
    return _refuse(approval)


async def _request(
    work: Work, entry: AssistantEntry, tool: AssistantTool, given: Mapping[str, object], arguments_hash: str
) -> AssistantApproval:
    if await store.count_pending(work.db, entry.user.id, now=work.now) >= MAX_WAITING:
        raise TooManyApprovals
    approval = AssistantApproval(
        id=new_id(),
        user_id=entry.user.id,
        grant_id=entry.grant_id,
        client_name=entry.client_name,
        tool=tool.name,
        arguments_hash=arguments_hash,
        status=ApprovalStatus.PENDING,
        created_at=work.now,
        expires_at=work.now + LASTS,
    )
    sealed = work.runtime.cipher.seal(ARGUMENTS, msgspec.json.encode(given), owner=approval.id.bytes)
    await store.insert_approval(work.db, approval, arguments=sealed)
    asked = AssistantApprovalRequested(
        user_id=entry.user.id,
        email=entry.user.email,
        approval_id=approval.id,
        client_name=entry.client_name,
        tool=tool.name,
        expires_at=approval.expires_at,
        base_url=work.runtime.settings.public_url,
    )
    await work.record(asked)
    return approval


def _wait(work: Work, approval: AssistantApproval) -> WaitsForApproval:
    url = f"{work.runtime.settings.public_url}/account/approvals/{approval.id}"
    return WaitsForApproval(
        f"The user wants to approve this call first. Ask them to decide at {url}. Then make the same call again, or "
        "call get_approval, to get the result",
        data={"approvalId": str(approval.id), "expiresAt": iso(approval.expires_at), "url": url},
    )


def _answer(
    work: Work, approval: AssistantApproval, sealed: bytes | None, *, is_error: bool
) -> ToolResponse | NotApproved:
    if sealed is None:
        return NotApproved(
            "The call was carried out, but its result is no longer stored", data={"cause": "no_longer_kept"}
        )
    return respond(open_result(work.runtime.cipher, approval.id, sealed), is_error=is_error)


def _refuse(approval: AssistantApproval) -> NotApproved:
    if approval.status is ApprovalStatus.REJECTED:
        why = f": {approval.reason}" if approval.reason else ""
        return NotApproved(f"The user has declined this call{why}", data={"cause": "declined"})
    return NotApproved(f"The user has not decided in time. {AGAIN}", data={"cause": "expired"})


async def find_state(
    work: Work, entry: AssistantEntry, approval_id: UUID
) -> tuple[AssistantApproval, ToolResponse | None]:
    """Read what became of a call of this assistant, and its result, which the assistant then knows."""
    found = await store.find_result(work.db, entry.grant_id, approval_id)
    if found is None:
        raise AssistantApprovalNotFound
    approval, sealed, is_error = found
    if approval.status is ApprovalStatus.PENDING:
        return approval, None
    await store.mark_told(work.db, approval.id, now=work.now)
    answer = _answer(work, approval, sealed, is_error=is_error) if sealed else None
    return approval, answer if isinstance(answer, ToolResponse) else None


async def lock_pending(work: Work, user: User, approval_id: UUID) -> tuple[AssistantApproval, Mapping[str, object]]:
    """Read a call that its user is about to decide; nobody else decides it before the commit."""
    found = await store.find_approval(work.db, user.id, approval_id, lock=True)
    if found is None:
        raise AssistantApprovalNotFound
    approval, sealed = found
    if find_obstacle(approval, now=work.now, again=AGAIN) is not None:
        raise CallDecided
    return approval, open_arguments(work, approval, sealed) or {}


def open_arguments(work: Work, approval: AssistantApproval, sealed: bytes | None) -> Mapping[str, object] | None:
    """Read with what a call waits; None when they are erased."""
    if sealed is None:
        return None
    try:
        opened = work.runtime.cipher.open(ARGUMENTS, sealed, owner=approval.id.bytes)
    except SealBroken:
        return None
    return msgspec.json.decode(opened, type=dict[str, object])


async def enter_again(work: Work, user: User, approval: AssistantApproval) -> AssistantEntry:
    """Return the assistant as it is now: what it has lost meanwhile, it can't use."""
    grant = await operations.get_assistant(work, user, approval.grant_id)
    if not grant.is_running(now=work.now):
        raise AssistantNotFound
    policies = await operations.list_policies(work, user)
    if not (scopes := allowed_by(policies, with_implied(map(AssistantScope, grant.scopes)))):
        raise AssistantsForbidden
    return AssistantEntry(
        actor=assistant_actor(user.id, grant.id, grant.client_name),
        user=user,
        grant_id=grant.id,
        client_name=grant.client_name,
        scopes=frozenset(scopes),
        resource=grant.resource,
        policies=policies,
    )


async def keep_result(work: Work, approval: AssistantApproval, answer: ToolResponse) -> None:
    """Use an approval up and keep what the tool answered, in the transaction in which it ran."""
    sealed = seal_result(work.runtime.cipher, approval.id, answer.content)
    is_first = await store.decide(
        work.db, approval.id, ApprovalStatus.APPROVED, now=work.now, result=sealed, is_error=answer.is_error
    )
    if not is_first:
        raise CallDecided


async def decline(work: Work, user: User, approval_id: UUID, *, reason: str | None = None) -> None:
    """Decline a call that waits; the assistant is told so, and why."""
    approval, _ = await lock_pending(work, user, approval_id)
    await store.decide(work.db, approval.id, ApprovalStatus.REJECTED, now=work.now, reason=reason)


async def get_approval(
    work: Work, user: User, approval_id: UUID
) -> tuple[AssistantApproval, Mapping[str, object] | None]:
    """Read a call that waits for its user, or was decided, with its arguments while it waits."""
    found = await store.find_approval(work.db, user.id, approval_id)
    if found is None:
        raise AssistantApprovalNotFound
    return found[0], open_arguments(work, *found)


async def list_waiting(work: Work, user: User) -> list[AssistantApproval]:
    return await store.list_approvals(work.db, user.id, is_waiting=True, now=work.now, limit=LISTED)


async def list_decided(work: Work, user: User) -> list[AssistantApproval]:
    return await store.list_approvals(work.db, user.id, is_waiting=False, now=work.now, limit=LISTED)
