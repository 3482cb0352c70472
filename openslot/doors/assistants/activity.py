"""The log of assistants' calls that their users read: every call, carried out or refused, without texts of people."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.domains.access.models import AssistantEntry
from openslot.domains.accounts.models import User
from openslot.doors.assistants.calls import store
from openslot.doors.mcp.errors import WaitsForApproval
from openslot.doors.mcp.jsonrpc import RpcFault
from openslot.doors.oauth.models import CallOutcome, LoggedCall
from openslot.platform.core.errors import Internal, Refusal
from openslot.platform.core.times import iso
from openslot.platform.core.work import Work

CALLS_KEPT = timedelta(days=90)
LONGEST = 500
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# The arguments whose values are kept; of all others only the name is, because people are named in them.
SHOWN = frozenset(
    {
        "approvalId",
        "bookingId",
        "contactId",
        "durationMinutes",
        "endDate",
        "endTime",
        "endsAt",
        "from",
        "limit",
        "newStartTime",
        "noShow",
        "page",
        "startDate",
        "startTime",
        "status",
        "timezone",
        "to",
        "uses",
    }
)


class CallInLog(Struct, frozen=True, kw_only=True):
    """Which call is to be logged, before it is known how it ends."""

    entry: AssistantEntry
    tool: str
    given: Mapping[str, object]

    def end(self, *, at: datetime, fault: Exception | None = None, made: str | None = None) -> LoggedCall:
        """Say how it ended; `made` is the id of what it has added."""
        outcome, code = outcome_of(fault)
        summary = summarize(self.given) + (f" id={made}" if made else "")
        return LoggedCall(
            user_id=self.entry.user.id,
            grant_id=self.entry.grant_id,
            client_name=self.entry.client_name,
            at=at,
            tool=self.tool if TOOL_NAME.fullmatch(self.tool) else "?",
            outcome=outcome,
            code=code,
            summary=summary.strip(),
        )


def outcome_of(fault: Exception | None) -> tuple[CallOutcome, str | None]:
    """Return how a call is logged that has ended with an exception, or without one."""
    if fault is None:
        return CallOutcome.OK, None
    if isinstance(fault, WaitsForApproval):
        return CallOutcome.WAITING, None
    if isinstance(fault, RpcFault):
        return CallOutcome.REFUSED, str((fault.data or {}).get("reason", "invalid_params"))
    is_ours = not isinstance(fault, Refusal) or isinstance(fault, Internal)
    return (CallOutcome.FAILED, None) if is_ours else (CallOutcome.REFUSED, getattr(fault, "code", None))


def summarize(given: Mapping[str, object]) -> str:
    """Write arguments on one line: the values that name nobody, and the names of all others."""
    written = (_write(name, value) for name, value in given.items() if TOOL_NAME.fullmatch(name))
    return " ".join(written)[:LONGEST]


def _write(name: str, value: object) -> str:
    shown = _show(value) if name in SHOWN else None
    return name if shown is None else f"{name}={shown}"


def _show(value: object) -> str | None:
    """Write a value that a tool takes for one of these arguments; None if it is something else."""
    if isinstance(value, bool | int):
        return str(value).lower()
    if not isinstance(value, str) or len(value) > 64:
        return None
    for read in (_read_id, _read_time):
        if (known := read(value)) is not None:
            return known
    return value if re.fullmatch(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)*", value) else None


def _read_id(value: str) -> str | None:
    try:
        return str(UUID(value))
    except ValueError:
        return None


def _read_time(value: str) -> str | None:
    try:
        if len(value) == len("2026-03-16"):
            return date.fromisoformat(value).isoformat()
        read = datetime.fromisoformat(value)
        return iso(read if read.tzinfo else read.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


async def keep(work: Work, call: LoggedCall) -> None:
    await store.insert_call(work.db, call)


async def list_calls(work: Work, user: User, *, before_no: int | None, limit: int) -> list[LoggedCall]:
    """List what a user's assistants have called, newest first."""
    return await store.list_calls(work.db, user.id, before_no=before_no, limit=limit)
