"""What the team chat is told about agents: who waits for an approval, how it was decided, and who spends much.

The chat's history is not ours to erase, so messages contain no arguments of calls: those who decide see them in the
audit log, on the terminal or on the admin page.
"""

from openslot.agents.events import ApprovalDecided, ApprovalRequested, BudgetWarned
from openslot.agents.roster import ROSTER
from openslot.core.dollars import to_usd
from openslot.core.events import Effect, Outcome, Reaction
from openslot.core.work import Work
from openslot.integrations.chat import post, team_chat

ENDINGS = {
    "approved": "was approved by {approver} and carried out",
    "rejected": "was rejected by {approver}",
    "expired": "has expired: nobody decided within 15 minutes",
}


async def tell_chat(work: Work, effect: Effect) -> Outcome:
    """Post what happened to the team chat."""
    return await post(work, WRITERS[effect.event_type](effect))


def name_of(slug: str | None) -> str:
    """Write an agent's name, or that of a person who is none."""
    entry = ROSTER.get(slug or "")
    return entry.name if entry else slug or "nobody"


def _write_request(effect: Effect) -> str:
    event = effect.event(ApprovalRequested)
    return (
        f"{name_of(event.requester)} asks for approval to call {event.tool}. It expires at "
        f"{event.expires_at:%H:%M} UTC. Decide with the Orchestrator, or on the terminal: "
        f"openslot agent approvals approve {event.approval_id}"
    )


def _write_decision(effect: Effect) -> str:
    event = effect.event(ApprovalDecided)
    ending = ENDINGS[event.outcome].format(approver=name_of(event.approver))
    return f"The call of {event.tool} by {name_of(event.requester)} {ending}. Approval {event.approval_id}"


def _write_warning(effect: Effect) -> str:
    event = effect.event(BudgetWarned)
    who = name_of(event.agent) if event.agent else "all agents together"
    percent = 100 * event.spent_micros // event.limit_micros if event.limit_micros else 100
    return (
        f"Budget warning for {event.on}: {who} spent {to_usd(event.spent_micros):.2f} of "
        f"{to_usd(event.limit_micros):.2f} USD ({percent} %)"
    )


WRITERS = {
    ApprovalRequested.type: _write_request,
    ApprovalDecided.type: _write_decision,
    BudgetWarned.type: _write_warning,
}

TELL_CHAT = Reaction(
    name="agents.tell_chat",
    on=(ApprovalRequested, ApprovalDecided, BudgetWarned),
    run=tell_chat,
    destination=team_chat,
)
