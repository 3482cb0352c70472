"""version, events: what this installation is made of."""

import platform

import typer

from openslot import __version__
from openslot.cli.output import Answer, AsJson, TableRows, print_rows, show

app = typer.Typer(add_completion=False)


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version and the commit that it was built from."""
    from openslot.platform.core.build import describe_version, find_commit

    python = platform.python_version()
    known = {"openslot": __version__, "commit": find_commit(), "python": python}
    show(Answer(known, f"Openslot {describe_version()} on Python {python}"), as_json=as_json)


@app.command()
def events(as_json: AsJson = False) -> None:
    """List every event with its consequences and reactions, and every periodic job."""
    from openslot.wiring import WIRING

    listed = [
        {
            "event": event.type,
            "meaning": (event.__doc__ or "").strip(),
            "consequences": [c.name for c in WIRING.consequences if c.on is event],
            "reactions": [r.name for r in WIRING.reactions if event in r.on],
        }
        for event in WIRING.events
    ]
    periodic = [{"name": p.name, "expression": p.expression} for p in WIRING.periodic]
    rows = [(e["event"], e["meaning"], ", ".join([*e["consequences"], *e["reactions"]]) or "-") for e in listed]
    show(
        Answer({"events": listed, "periodic": periodic}, TableRows(("Event", "Meaning", "Then"), rows)), as_json=as_json
    )
    if not as_json:
        print_rows(TableRows(("\nPeriodic job", "\nWhen (UTC)"), [(p["name"], p["expression"]) for p in periodic]))
