"""What agents did, by UTC days: calls and how they ended, spending, and approvals that they asked for."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from msgspec import Struct
from msgspec.structs import asdict

from openslot.doors.agents.audit import store
from openslot.doors.agents.models import AgentEmail, AuditStatus, CallRecord
from openslot.doors.agents.roster import ROSTER
from openslot.platform.core.work import Work


class DayOfAgents(Struct, frozen=True, kw_only=True):
    """One day of an agent, or of several together."""

    on: date
    done: int = 0
    waiting: int = 0
    """Calls that were answered that they need an approval."""
    refused: int = 0
    """Calls that a gate or the tool has refused, or that failed."""
    spent_micros: int = 0
    approved: int = 0
    rejected: int = 0
    """Approvals that were rejected, or that nobody gave in time."""
    pending: int = 0

    @property
    def calls(self) -> int:
        return self.done + self.waiting + self.refused


class AgentActivity(Struct, frozen=True, kw_only=True):
    """Every day of an agent, also those without a call, and why calls were refused or failed, most often first."""

    days: Sequence[DayOfAgents]
    refusals: Sequence[tuple[AuditStatus, int]]


# Where each status counts; calls of every other one are refused, and approvals rejected.
COUNTED = {
    ("call", AuditStatus.OK): "done",
    ("call", AuditStatus.APPROVED): "done",
    ("call", AuditStatus.PENDING_APPROVAL): "waiting",
    ("approval", "approved"): "approved",
    ("approval", "pending"): "pending",
    ("spent", ""): "spent_micros",
}
OTHERS = {"call": "refused", "approval": "rejected"}


async def list_activity(
    work: Work, *, first: date, last: date, agent: str | None = None
) -> Mapping[str, AgentActivity]:
    """List what each agent did on every one of these days, or one agent."""
    counts: dict[tuple[str, date], Counter[str]] = defaultdict(Counter)
    refusals: dict[str, Counter[AuditStatus]] = defaultdict(Counter)
    for row in await store.list_activity(work.db, since=datetime.combine(first, time(), UTC), agent=agent):
        field = COUNTED.get((row["kind"], row["status"])) or OTHERS[row["kind"]]
        counts[row["agent"], row["on_date"]][field] += row["count"]
        if field == "refused":
            refusals[row["agent"]][AuditStatus(row["status"])] += row["count"]
    days = [first + timedelta(days=index) for index in range((last - first).days + 1)]
    return {
        slug: AgentActivity(
            days=[DayOfAgents(on=on, **counts[slug, on]) for on in days],
            refusals=sorted(refusals[slug].items(), key=lambda each: (-each[1], each[0])),
        )
        for slug in (ROSTER if agent is None else [agent])
    }


def add_up(agents: Iterable[AgentActivity]) -> list[DayOfAgents]:
    """Add up the days of several agents."""
    return [_add(each) for each in zip(*(agent.days for agent in agents), strict=True)]


def _add(days: Sequence[DayOfAgents]) -> DayOfAgents:
    sums = {name: sum(getattr(day, name) for day in days) for name in asdict(days[0]) if name != "on"}
    return DayOfAgents(on=days[0].on, **sums)


async def list_latest(work: Work, agent: str, *, limit: int) -> tuple[list[CallRecord], list[AgentEmail]]:
    """List the latest calls and emails of an agent, newest first."""
    return await store.list_latest(work.db, agent, limit=limit)
