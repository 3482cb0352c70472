"""The command line."""

from openslot.processes.exits import run


def main() -> None:
    from openslot.cli.commands import app

    run(app)
