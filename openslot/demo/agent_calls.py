"""Some weeks of agents' calls in the audit log, what the agents have spent, and calls that wait for an approval.

Agents read, and are refused: what they would have changed did not happen, so that the records are all there is to it.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, Literal
from uuid import UUID

from openslot.demo.bulk import copy_rows, to_row
from openslot.demo.past_rows import Happened, write_events
from openslot.domains.access.models import CredentialKind
from openslot.domains.access.operations import list_credentials
from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Status
from openslot.domains.bookings.operations import list_bookings
from openslot.doors.agents.approvals.store import APPROVALS
from openslot.doors.agents.audit.operations import keep_records_with, list_audited_calls
from openslot.doors.agents.calls import BY_NAME, read_arguments
from openslot.doors.agents.errors import (
    ApprovalRequired,
    AutonomyTooLow,
    ConfirmationRequired,
    GateRefusal,
    InsufficientScope,
)
from openslot.doors.agents.events import ApprovalDecided, ApprovalRequested
from openslot.doors.agents.models import AuditFilter, AuditStatus, CallRecord
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.rules import LASTS, PERSON, Approval
from openslot.doors.agents.store import ALL
from openslot.doors.mcp.approvals import ApprovalStatus, hash_arguments
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.ids import new_id, new_id_text
from openslot.platform.core.moments import Span
from openslot.platform.core.work import Work

DAYS = 30
READ = {
    "support": ("list_bookings", "get_user", "list_contacts", "get_user_activity", "check_budget"),
    "cto": ("list_flags", "search_audit_log", "check_global_budget"),
    "data": ("list_users", "list_bookings", "list_event_types"),
    "devops": ("list_flags", "search_audit_log"),
    "orchestrator": ("list_users", "search_audit_log", "check_global_budget", "list_flags"),
    "customer_success": ("list_contacts", "get_user", "list_bookings"),
    "growth": ("list_users", "list_flags"),
    "seo": ("list_event_types",),
}
REFUSED: tuple[tuple[str, str, type[GateRefusal]], ...] = (
    ("growth", "list_bookings", InsufficientScope),
    ("seo", "list_users", InsufficientScope),
    ("customer_success", "update_contact_metadata", AutonomyTooLow),
    ("devops", "toggle_flag", ConfirmationRequired),
    ("support", "update_contact_metadata", ConfirmationRequired),
)
REASONS = ("The customer has asked for it", "Booked twice by mistake", "The project has ended")
ABOUT_A_USER = {"get_user", "get_user_activity"}
LONGER = timedelta(days=7)
"""How long the demo's calls wait for an approval, instead of minutes: there is something to decide for a while."""

Arguments = Mapping[str, object]


async def make_agent_calls(work: Work, host: User) -> None:
    """Write records, spending and approvals, if no agent has ever called a tool."""
    if not await list_audited_calls(work, AuditFilter(), page=1, limit=1):
        keys = {agent: (await list_credentials(work, CredentialKind.AGENT_KEY, agent))[0].id for agent in ROSTER}
        upcoming, _ = await list_bookings(
            work, host, status=Status.CONFIRMED, span=Span(work.now + timedelta(days=1)), page=1, limit=3
        )
        await _AgentCalls(work, host, keys).write([str(each.id) for each in upcoming])


class _AgentCalls:
    def __init__(self, work: Work, host: User, keys: dict[str, UUID]) -> None:
        self._work = work
        self._host = host
        self._keys = keys
        self._chance = Random(2027)  # noqa: S311 - the same demo for everyone
        self._records: list[CallRecord] = []
        self._approvals: list[Approval] = []
        self._happened: list[Happened] = []

    async def write(self, bookings: list[str]) -> None:
        for days in range(DAYS, -1, -1):
            self._add_day(self._work.now - timedelta(days=days))
        self._add_approvals(bookings)
        db = self._work.db
        await copy_rows(db, "agent_spend", self._list_spend())
        await copy_rows(db, "approvals", [to_row(APPROVALS, each) for each in self._approvals])
        await write_events(db, self._happened)
        await keep_records_with(self._work, *sorted(self._records, key=lambda each: each.at))

    def _add_day(self, before: datetime) -> None:
        """Add the calls of the hours before a moment."""
        for agent, tools in READ.items():
            for _ in range(self._chance.randint(0, 4)):
                tool = self._chance.choice(tools)
                arguments = {"userId": str(self._host.id)} if tool in ABOUT_A_USER else {}
                self._record(agent, tool, arguments, self._moment(before))
        for agent, tool, refusal in self._chance.sample(REFUSED, self._chance.randint(0, 2)):
            self._record(agent, tool, {}, self._moment(before), refusal=refusal)

    def _moment(self, before: datetime) -> datetime:
        return before - timedelta(seconds=self._chance.randint(1800, 12 * 3600))

    def _record(
        self,
        agent: str,
        name: str,
        arguments: Arguments,
        at: datetime,
        *,
        refusal: type[GateRefusal] | None = None,
        approval_id: UUID | None = None,
        **more: Any,
    ) -> None:
        tool = BY_NAME[name]
        is_read = refusal in {None, ApprovalRequired}
        target = tool.target(read_arguments(tool, arguments)) if is_read else None
        fields = {
            "status": refusal.recorded_as if refusal else AuditStatus.OK,
            "error_code": refusal.rpc_code if refusal else None,
            "latency_ms": self._chance.randint(3, 60) if is_read else 1,
            "request_id": new_id_text(),
            **more,
        }
        self._records.append(
            CallRecord(
                id=new_id(),
                at=at,
                agent=agent,
                key_id=self._keys[agent],
                tool=name,
                scope=tool.scope,
                tier=tool.tier,
                input_hash=hash_arguments(arguments),
                approval_id=approval_id,
                target_type=target.type if target else None,
                target_id=target.id if target else None,
                **fields,
            )
        )

    def _add_approvals(self, bookings: list[str]) -> None:
        now = self._work.now
        plan = {"userId": str(self._host.id), "plan": "FREE", "reason": "Asked for by mail"}
        for n, (booking_id, reason) in enumerate(zip(bookings, REASONS, strict=False)):
            arguments = {"bookingId": booking_id, "reason": reason}
            self._ask("cancel_booking", arguments, now - timedelta(minutes=9 - n))
            earlier = now - timedelta(days=4 + 5 * n, hours=n)
            self._ask("cancel_booking", {**arguments, "reason": "Double booked"}, earlier, ApprovalStatus.EXPIRED)
        self._ask("change_user_plan", plan, now - timedelta(minutes=3))
        self._ask("change_user_plan", plan, now - timedelta(days=2), ApprovalStatus.REJECTED)

    def _ask(
        self, tool: str, arguments: Arguments, at: datetime, status: ApprovalStatus = ApprovalStatus.PENDING
    ) -> None:
        """Add a call of Support that waits, or what became of it."""
        agent, is_pending = "support", status is ApprovalStatus.PENDING
        approval = Approval(
            id=new_id(),
            tool=tool,
            requester=agent,
            key_id=self._keys[agent],
            arguments_hash=hash_arguments(arguments),
            status=status,
            approver=PERSON if status is ApprovalStatus.REJECTED else None,
            created_at=at,
            expires_at=at + (LONGER if is_pending else LASTS),
            reason="Ask the customer first" if status is ApprovalStatus.REJECTED else None,
            decided_at=None if is_pending else at + LASTS,
            arguments=arguments if is_pending else None,
        )
        self._approvals.append(approval)
        about: dict[str, Any] = {"approval_id": approval.id, "tool": tool, "requester": agent}
        actor = Actor(kind=ActorKind.AGENT, agent=agent, credential_id=self._keys[agent], is_demo=True)
        self._happened.append(Happened(at, actor, ApprovalRequested(expires_at=approval.expires_at, **about)))
        self._record(agent, tool, arguments, at, refusal=ApprovalRequired, approval_id=approval.id)
        if approval.decided_at is not None:
            outcome: Literal["rejected", "expired"] = "rejected" if approval.approver else "expired"
            decided = ApprovalDecided(outcome=outcome, approver=approval.approver, **about)
            self._happened.append(Happened(approval.decided_at, self._work.actor, decided))
            ending: dict[str, Any] = {
                "status": AuditStatus(status.value),
                "approver": approval.approver,
                "latency_ms": 0,
            }
            self._record(agent, tool, arguments, approval.decided_at, approval_id=approval.id, **ending)

    def _list_spend(self) -> list[dict[str, Any]]:
        """List what models have cost on each day that an agent has called tools, all of it reported by the agents."""
        spent: dict[tuple[date, str], int] = {}
        for record in self._records:
            micros = self._chance.randint(1_000, 6_000)
            for agent in (record.agent, ALL):
                on = record.at.date()
                spent[on, agent] = spent.get((on, agent), 0) + micros
        return [
            {"on_date": on, "agent": agent, "spent_micros": micros, "reported_micros": micros}
            for (on, agent), micros in spent.items()
        ]
