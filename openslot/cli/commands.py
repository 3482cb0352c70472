"""Every command and the module that defines it."""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from openslot.processes.environment import choose

# A module of single commands, or a module that is a command group.
COMMANDS = {
    "serve": "processes",
    "web": "processes",
    "worker": "processes",
    "migrate": "data",
    "seed": "data",
    "doctor": "doctor",
    "explain": "explain",
    "mcp": "mcp",
    "events": "inspect",
    "version": "inspect",
}
GROUPS = {
    "user": "users",
    "key": "keys",
    "organization": "organizations",
    "team": "team",
    "scim": "scim",
    "assistant": "assistants",
    "effect": "effects",
    "backup": "backup",
    "secret": "secret",
    "webhook": "webhooks",
    "calendar": "calendars",
    "crm": "crm",
    "mail": "mail",
    "messaging": "messaging",
    "payment": "payments",
    "event-type": "event_types",
    "link": "links",
    "booking": "bookings",
    "brand": "brand",
    "flag": "flags",
    "agent": "agents",
    "audit": "audit",
}


class LazyCommands(TyperGroup):
    """Loads a command's module only when it is used, so that `serve` starts faster."""

    def list_commands(self, ctx: object) -> list[str]:
        return [*COMMANDS, *GROUPS]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggest a command in place of one that does not exist; the framework knows only those that are loaded."""
        if args[0] not in {*COMMANDS, *GROUPS} and not args[0].startswith("-"):
            near = get_close_matches(args[0], [*COMMANDS, *GROUPS], n=1)
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    # The framework does not export its types of context and command.
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = COMMANDS.get(cmd_name) or GROUPS.get(cmd_name)
        if module is None:
            return None
        loaded = typer.main.get_command(import_module(f"openslot.cli.{module}").app)
        loaded.name = cmd_name
        if cmd_name in GROUPS or not isinstance(loaded, TyperGroup):
            return loaded
        return loaded.get_command(ctx, cmd_name)


app = typer.Typer(
    cls=LazyCommands,
    name="openslot",
    help="Online scheduling that you run yourself.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def print_version(wanted: bool) -> None:
    if wanted:
        from openslot.platform.core.build import describe_version

        typer.echo(f"openslot {describe_version()}")
        raise typer.Exit


@app.callback()
def options(
    database_url: Annotated[str | None, typer.Option(help="URL of a PostgreSQL 15 or newer (DATABASE_URL)")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Directory for data (OPENSLOT_DATA_DIR)")] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    """Online scheduling that you run yourself."""
    choose(database_url=database_url, data_dir=data_dir)
