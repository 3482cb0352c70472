"""What the approvals of all tool servers share: which calls are the same, whether one can be decided, its result."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.platform.core.secrets import Cipher

OF_THE_GATES = frozenset({"confirm", "approvalId", "decision"})
RESULT = "approval result"
RESULTS_KEPT = timedelta(hours=24)


class ApprovalStatus(StrEnum):
    """How far an approval has come."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ApprovableCall(Struct, frozen=True, kw_only=True):
    """A call that waits for a decision, or had one."""

    id: UUID
    tool: str
    arguments_hash: str
    status: ApprovalStatus
    created_at: datetime
    expires_at: datetime
    reason: str | None = None
    """Why it was rejected, if its approver has said so."""
    decided_at: datetime | None = None


class Obstacle(NamedTuple):
    """Why a call can't be decided: for programs, and in words."""

    cause: str
    words: str


def canonical(arguments: Mapping[str, object]) -> bytes:
    """Write a call's own arguments with sorted keys, without spaces, as UTF-8."""
    own = without_gates(arguments)
    text = json.dumps(own, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate has no UTF-8; it is refused later, and the refused call is hashed too.
    return text.encode(errors="surrogatepass")


def without_gates(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if name not in OF_THE_GATES}


def hash_arguments(arguments: Mapping[str, object]) -> str:
    return hashlib.sha256(canonical(arguments)).hexdigest()


def is_expired(call: ApprovableCall, *, now: datetime) -> bool:
    return call.status is ApprovalStatus.EXPIRED or (call.status is ApprovalStatus.PENDING and call.expires_at <= now)


def find_obstacle(call: ApprovableCall, *, now: datetime, again: str) -> Obstacle | None:
    """Say why a call can't be decided any more; `again` is how to ask for it once more."""
    if call.status in {ApprovalStatus.APPROVED, ApprovalStatus.REJECTED}:
        why = f": {call.reason}" if call.reason else ""
        return Obstacle(f"already_{call.status}", f"The call was already {call.status}{why}")
    return Obstacle("expired", f"The approval has expired. {again}") if is_expired(call, now=now) else None


def seal_result(cipher: Cipher, approval_id: UUID, result: object) -> bytes:
    """Seal what an approved call has answered, until its requester fetches it."""
    return cipher.seal(RESULT, msgspec.json.encode(result), owner=approval_id.bytes)


def open_result(cipher: Cipher, approval_id: UUID, sealed: bytes) -> object:
    return msgspec.json.decode(cipher.open(RESULT, sealed, owner=approval_id.bytes))
