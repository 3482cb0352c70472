"""agent …: the ten agents, how far each acts on its own, and what it may do; their keys are under `key`."""

from typing import Annotated

import typer

from openslot.agents import operations
from openslot.agents.models import AgentSetup, Level
from openslot.agents.roster import ROSTER
from openslot.cli.approvals import app as approvals
from openslot.cli.approvals import list_emails
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.cli.running import with_work
from openslot.core.errors import Invalid
from openslot.core.work import Work

app = typer.Typer(help="Agents, their levels and scopes.", no_args_is_help=True, add_completion=False)
app.add_typer(approvals, name="approvals")
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
