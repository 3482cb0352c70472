"""agent approvals …: agents' calls that wait for a decision, and an administrator's decision about them."""

from typing import Annotated

import msgspec
import typer

from openslot.agents import approvals, emails
from openslot.agents.approvals import ApprovalDecision, Verdict
from openslot.agents.calls import decide
from openslot.agents.models import AgentEmail
from openslot.agents.rules import PERSON, Approval
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.cli.running import with_work
from openslot.core.ids import parse_id
from openslot.core.work import Work

app = typer.Typer(help="Agents' calls that wait for an approval.", no_args_is_help=True, add_completion=False)

ApprovalId = Annotated[str, typer.Argument(help="The approval's id, as in `agent approvals list`")]


@app.command("list")
def list_approvals(as_json: AsJson = False) -> None:
    """List the calls that wait, oldest first, with their arguments."""
    found = with_work(approvals.list_pending)
    if as_json:
        print_json({"approvals": [_shown(each) for each in found]})
        return
    rows = [
        (each.id, each.requester, each.tool, msgspec.json.encode(each.arguments).decode(), each.expires_at)
        for each in found
    ]
    print_table(("Id", "Requester", "Tool", "Arguments", "Expires"), rows, nothing="No call waits for an approval.")


@app.command("approve")
def approve(approval_id: ApprovalId, as_json: AsJson = False) -> None:
    """Approve a call and carry it out now, on behalf of its requester."""
    verdict = _decide(approval_id, "approve")
    if as_json:
        print_json({"outcome": "approved", "isError": verdict.is_error, "result": msgspec.to_builtins(verdict.result)})
        return
    ending = "and was refused by the tool" if verdict.is_error else "and is done"
    console.print(f"The call of {verdict.agent} was approved {ending}.")
    console.print_json(msgspec.json.encode(verdict.result).decode())


@app.command("reject")
def reject(approval_id: ApprovalId, as_json: AsJson = False) -> None:
    """Reject a call; its requester is told when it asks for the result."""
    verdict = _decide(approval_id, "reject")
    if as_json:
        print_json({"outcome": "rejected", "approvalId": str(verdict.approval_id)})
        return
    console.print(f"The call of {verdict.agent} was rejected.")


def list_emails(
    agent: Annotated[str | None, typer.Option(help="Only this agent, by its name")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List the emails that agents have sent, newest first."""

    async def do(work: Work) -> list[AgentEmail]:
        return await emails.list_emails(work, agent=agent, limit=limit)

    found = with_work(do)
    if as_json:
        print_json({"emails": [_shown_email(each) for each in found]})
        return
    rows = [(each.at, each.agent, each.category, each.recipient, each.subject, each.status) for each in found]
    print_table(("Time", "Agent", "Category", "To", "Subject", "Status"), rows, nothing="No emails.")


def _decide(approval_id: str, decision: ApprovalDecision) -> Verdict:
    async def do(work: Work) -> Verdict:
        return await decide(work, parse_id(approval_id), decision, approver=PERSON, request_id="terminal")

    return with_work(do)


def _shown(approval: Approval) -> dict[str, object]:
    return {
        "id": str(approval.id),
        "requester": approval.requester,
        "tool": approval.tool,
        "arguments": approval.arguments,
        "createdAt": approval.created_at,
        "expiresAt": approval.expires_at,
    }


def _shown_email(email: AgentEmail) -> dict[str, object]:
    return {
        "id": str(email.id),
        "at": email.at,
        "agent": email.agent,
        "category": email.category,
        "to": email.recipient,
        "subject": email.subject,
        "messageId": email.message_id,
        "status": email.status,
        "error": email.error,
        "optOutChecked": email.opt_out_checked,
        "costMicros": email.cost_micros,
        "auditId": str(email.audit_id),
    }
