"""version, events: what this installation is made of."""

import platform

import typer

from openslot import __version__
from openslot.cli.output import AsJson, console, print_json, print_table

app = typer.Typer(add_completion=False)


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"openslot": __version__, "python": platform.python_version()})
        return
    console.print(f"Openslot {__version__} on Python {platform.python_version()}")


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
    if as_json:
        print_json({"events": listed, "periodic": periodic})
        return
    rows = [(e["event"], e["meaning"], ", ".join([*e["consequences"], *e["reactions"]]) or "-") for e in listed]
    print_table(("Event", "Meaning", "Then"), rows, nothing="No events.")
    console.print()
    print_table(("Periodic job", "When (UTC)"), [(p["name"], p["expression"]) for p in periodic], nothing="None.")
