"""agent …: the ten agents, how far each acts on its own, what it may do, and calls that wait for a decision."""

from typing import Annotated

import msgspec
import typer

from openslot.cli.command import Limit, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.doors.agents import operations
from openslot.doors.agents.approvals.operations import list_pending_approvals
from openslot.doors.agents.calls import decide
from openslot.doors.agents.emails.operations import list_agent_emails
from openslot.doors.agents.models import AgentSetup, Level
from openslot.doors.agents.roster import ROSTER
from openslot.doors.agents.rules import PERSON
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work

app = group("Agents, their levels and scopes.")
approval_app = group("Agents' calls that wait for an approval.")
app.add_typer(approval_app, name="approvals")

Slug = Annotated[str, typer.Argument(help="The agent's name, as in `agent list`")]
ApprovalId = Annotated[str, typer.Argument(help="The approval's id, as in `agent approvals list`")]
YES_OR_NO = {True: "yes", False: "no", None: "not noted"}


@command(app, "list")
async def list_agents(work: Work) -> Answer:
    """List the agents with their levels, keys and scopes."""
    found = await operations.list_agents(work)
    rows = [(a.slug, a.autonomy_level.name, a.email_level.name, a.active_keys, len(a.scopes)) for a in found]
    columns = ("Agent", "Autonomy", "Email", "Active keys", "Scopes")
    return Answer({"agents": [_shape(agent) for agent in found]}, TableRows(columns, rows, "No agents."))


@command(app, "show")
async def show_agent(work: Work, slug: Slug) -> Answer:
    """Show one agent with its scopes."""
    shown = _shape(await operations.get_agent(work, slug))
    lines = [f"{name}: {', '.join(value) if isinstance(value, list) else value}" for name, value in shown.items()]
    return Answer(shown, "\n".join(lines))


@command(app, "level")
async def set_level(
    work: Work, slug: Slug, level: Annotated[str, typer.Argument(help="L0: reads only; L1: acts within its scopes")]
) -> Answer:
    """Change how much an agent may do on its own."""
    if level.upper() not in Level.__members__:
        raise Invalid(details={"level": f"must be one of {', '.join(Level.__members__)}"})
    await operations.set_level(work, slug, Level[level.upper()])
    return _answer(await operations.get_agent(work, slug))


@command(app, "scopes")
async def set_scopes(
    work: Work,
    slug: Slug,
    scopes: Annotated[list[str] | None, typer.Argument(help="The scopes, such as flags:write")] = None,
    default: Annotated[bool, typer.Option("--default", help="The scopes of a new installation")] = False,
) -> Answer:
    """Change which tools an agent may call, including with its existing keys."""
    if bool(scopes) == default:
        raise Invalid("Specify scopes or --default")
    agent = await operations.get_agent(work, slug)
    await operations.set_scopes(work, slug, ROSTER[agent.slug].scopes if default else scopes or [])
    return _answer(await operations.get_agent(work, slug))


@command(app, "emails")
async def list_emails(
    work: Work,
    agent: Annotated[str | None, typer.Option(help="Only this agent, by its name")] = None,
    limit: Limit = 50,
) -> Answer:
    """List the emails that agents have sent, newest first."""
    found = await list_agent_emails(work, agent=agent, limit=limit)
    rows = [(each.at, each.agent, each.category, each.recipient, each.subject, each.status) for each in found]
    names = "id at agent category subject message_id status error opt_out_checked cost_micros audit_id"
    shown = [pick(each, names, to=each.recipient) for each in found]
    columns = ("Time", "Agent", "Category", "To", "Subject", "Status")
    return Answer({"emails": shown}, TableRows(columns, rows, "No emails."))


@command(approval_app, "list")
async def list_approvals(work: Work) -> Answer:
    """List the calls that wait, oldest first, with their arguments.

    "Texts read" says whether the agent has read texts of hosts, invitees or others since a person last approved a call
    of it: such texts may contain instructions.
    """
    found = await list_pending_approvals(work)
    rows = [
        (
            *(each.id, each.requester, each.tool, msgspec.json.encode(each.arguments).decode()),
            *(YES_OR_NO[each.has_read_texts], each.expires_at),
        )
        for each in found
    ]
    shown = [pick(each, "id requester tool arguments has_read_texts created_at expires_at") for each in found]
    columns = ("Id", "Requester", "Tool", "Arguments", "Texts read", "Expires")
    return Answer({"approvals": shown}, TableRows(columns, rows, "No call waits for an approval."))


@command(approval_app, "approve")
async def approve(work: Work, approval_id: ApprovalId) -> Answer:
    """Approve a call and carry it out now, on behalf of its requester."""
    verdict = await decide(work, parse_id(approval_id), "approve", approver=PERSON, request_id="terminal")
    ending = "and was refused by the tool" if verdict.is_error else "and is done"
    result = msgspec.json.format(msgspec.json.encode(verdict.result)).decode()
    shown = {"outcome": "approved", "isError": verdict.is_error, "result": msgspec.to_builtins(verdict.result)}
    return Answer(shown, f"The call of {verdict.agent} was approved {ending}.\n{result}")


@command(approval_app, "reject")
async def reject(work: Work, approval_id: ApprovalId) -> Answer:
    """Reject a call; its requester is told when it asks for the result."""
    verdict = await decide(work, parse_id(approval_id), "reject", approver=PERSON, request_id="terminal")
    shown = {"outcome": "rejected", "approvalId": verdict.approval_id}
    return Answer(shown, f"The call of {verdict.agent} was rejected.")


def _answer(agent: AgentSetup) -> Answer:
    return Answer(_shape(agent), f"{agent.slug}: {agent.autonomy_level.name}, {', '.join(sorted(agent.scopes))}")


def _shape(agent: AgentSetup) -> dict[str, object]:
    return {
        "agent": agent.slug,
        "name": ROSTER[agent.slug].name,
        "autonomyLevel": agent.autonomy_level.name,
        "emailLevel": agent.email_level.name,
        "emailCategories": sorted(ROSTER[agent.slug].categories),
        "scopes": sorted(agent.scopes),
        "activeKeys": agent.active_keys,
    }
