"""agent …: the ten agents, how far each acts on its own, what it may do, and calls that wait for a decision."""

from typing import Annotated

import msgspec
import typer

from openslot.agents import approvals, emails, operations
from openslot.agents.approvals import ApprovalDecision, Verdict
from openslot.agents.calls import decide
from openslot.agents.models import AgentEmail, AgentSetup, Level
from openslot.agents.roster import ROSTER
from openslot.agents.rules import PERSON, Approval
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Work
from openslot.processes.runtimes import with_work

approval_app = typer.Typer(help="Agents' calls that wait for an approval.", no_args_is_help=True, add_completion=False)

ApprovalId = Annotated[str, typer.Argument(help="The approval's id, as in `agent approvals list`")]


@approval_app.command("list")
def list_approvals(as_json: AsJson = False) -> None:
    """List the calls that wait, oldest first, with their arguments."""
    found = with_work(approvals.list_pending)
    if as_json:
        print_json({"approvals": [_shown_approval(each) for each in found]})
        return
    rows = [
        (each.id, each.requester, each.tool, msgspec.json.encode(each.arguments).decode(), each.expires_at)
        for each in found
    ]
    print_table(("Id", "Requester", "Tool", "Arguments", "Expires"), rows, nothing="No call waits for an approval.")


@approval_app.command("approve")
def approve(approval_id: ApprovalId, as_json: AsJson = False) -> None:
    """Approve a call and carry it out now, on behalf of its requester."""
    verdict = _decide(approval_id, "approve")
    if as_json:
        print_json({"outcome": "approved", "isError": verdict.is_error, "result": msgspec.to_builtins(verdict.result)})
        return
    ending = "and was refused by the tool" if verdict.is_error else "and is done"
    console.print(f"The call of {verdict.agent} was approved {ending}.")
    console.print_json(msgspec.json.encode(verdict.result).decode())


@approval_app.command("reject")
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


def _shown_approval(approval: Approval) -> dict[str, object]:
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


app = typer.Typer(help="Agents, their levels and scopes.", no_args_is_help=True, add_completion=False)
app.add_typer(approval_app, name="approvals")
app.command("emails")(list_emails)


Slug = Annotated[str, typer.Argument(help="The agent's name, as in `agent list`")]


@app.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents."""
    found = with_work(operations.list_agents)
    if as_json:
        print_json({"agents": [_shown(agent) for agent in found]})
        return
    rows = [
        (agent.slug, agent.autonomy_level.name, agent.email_level.name, agent.active_keys, len(agent.scopes))
        for agent in found
    ]
    print_table(("Agent", "Autonomy", "Email", "Active keys", "Scopes"), rows, nothing="No agents.")


@app.command("show")
def show_agent(slug: Slug, as_json: AsJson = False) -> None:
    """Show one agent with its scopes."""

    async def do(work: Work) -> AgentSetup:
        return await operations.get_agent(work, slug)

    agent = with_work(do)
    if as_json:
        print_json(_shown(agent))
        return
    for name, value in _shown(agent).items():
        console.print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")


@app.command("level")
def set_level(
    slug: Slug,
    level: Annotated[str, typer.Argument(help="L0: reads only; L1: acts within its scopes")],
    as_json: AsJson = False,
) -> None:
    """Change how much an agent may do on its own."""

    async def do(work: Work) -> AgentSetup:
        await operations.set_level(work, slug, _read_level(level))
        return await operations.get_agent(work, slug)

    _print(with_work(do), as_json=as_json)


@app.command("scopes")
def set_scopes(
    slug: Slug,
    scopes: Annotated[list[str] | None, typer.Argument(help="The scopes, such as flags:write")] = None,
    default: Annotated[bool, typer.Option("--default", help="The scopes of a new installation")] = False,
    as_json: AsJson = False,
) -> None:
    """Change which tools an agent may call, including with its existing keys."""
    if bool(scopes) == default:
        raise Invalid("Specify scopes or --default")

    async def do(work: Work) -> AgentSetup:
        agent = await operations.get_agent(work, slug)
        await operations.set_scopes(work, slug, ROSTER[agent.slug].scopes if default else scopes or [])
        return await operations.get_agent(work, slug)

    _print(with_work(do), as_json=as_json)


def _read_level(name: str) -> Level:
    if name.upper() not in Level.__members__:
        raise Invalid(details={"level": f"must be one of {', '.join(Level.__members__)}"})
    return Level[name.upper()]


def _print(agent: AgentSetup, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(agent))
        return
    console.print(f"{agent.slug}: {agent.autonomy_level.name}, {', '.join(sorted(agent.scopes))}")


def _shown(agent: AgentSetup) -> dict[str, object]:
    return {
        "agent": agent.slug,
        "name": ROSTER[agent.slug].name,
        "autonomyLevel": agent.autonomy_level.name,
        "emailLevel": agent.email_level.name,
        "emailCategories": sorted(ROSTER[agent.slug].categories),
        "scopes": sorted(agent.scopes),
        "activeKeys": agent.active_keys,
    }
