"""The command line."""

from openslot.processes.exits import run


def main() -> None:
    """Run the command line."""
    from openslot.cli.commands import app

    run(app)
