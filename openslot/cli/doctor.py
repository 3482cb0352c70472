"""doctor: what is wrong with this installation, and the command that mends it."""

import typer

from openslot.cli.output import AsJson

app = typer.Typer(add_completion=False)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look at everything and say what is wrong."""
