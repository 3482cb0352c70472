"""What the terminal shows: tables for people, JSON for scripts."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from openslot.core.moments import iso

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts")]

# A pipe has no width, and names may look like markup: nothing is truncated or interpreted.
console = Console(highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else 1000)


def print_json(value: object) -> None:
    """Print one JSON value."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain)).decode() + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, nothing: str) -> None:
    """Print rows as a table, or a sentence if there are none."""
    if not rows:
        console.print(nothing)
        return
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(shown(cell) for cell in row))
    console.print(table)


def shown(cell: object) -> str:
    """Format one cell."""
    if cell is None:
        return "-"
    if isinstance(cell, datetime):
        return iso(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return str(cell)


def _plain(value: object) -> str:
    if isinstance(value, Path | str):
        return str(value)
    raise NotImplementedError(f"no JSON is known for {type(value).__name__}")
