"""The operator's terminal."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from openslot.cli.environment import choose
from openslot.cli.signals import leave_on_signals
from openslot.core.errors import Refusal, StartupError

# Where each command lives: a module of single commands, or a module that is a group of its own.
COMMANDS = {
    "serve": "processes",
    "web": "processes",
    "worker": "processes",
    "migrate": "data",
    "seed": "data",
    "doctor": "doctor",
    "events": "inspect",
    "version": "inspect",
}
GROUPS = {"user": "users", "key": "keys", "backup": "backup"}


class LazyCommands(TyperGroup):
    """Loads a command's module when it is called for: `serve` starts quicker without the rest."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # noqa: ARG002 - the framework's own signature
        """Name all commands."""
        return [*COMMANDS, *GROUPS]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | TyperGroup | None:
        """Load one command."""
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


@app.callback()
def options(
    database_url: Annotated[str | None, typer.Option(help="A PostgreSQL 15 or newer (DATABASE_URL)")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where data is kept (OPENSLOT_DATA_DIR)")] = None,
) -> None:
    """Online scheduling that you run yourself."""
    choose(database_url=database_url, data_dir=data_dir)


def main() -> None:
    """Run the command line; whatever can't be done ends with one sentence."""
    leave_on_signals()
    try:
        app()
    except (StartupError, Refusal) as fault:
        details = getattr(fault, "details", None) or {}
        faults = "".join(f"\n  {field} {words}" for field, words in details.items())
        print(f"openslot: {fault}{faults}", file=sys.stderr)  # noqa: T201 - the terminal is the door
        sys.exit(1)
