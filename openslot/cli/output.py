"""What the terminal shows: JSON for scripts, and text or a table for people."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from openslot.platform.core.times import iso
from openslot.platform.i18n import say

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts")]

# A pipe has no width, and names may look like markup: nothing is truncated or interpreted.
console = Console(highlight=False, markup=False, soft_wrap=True, width=None if sys.stdout.isatty() else 1000)


class TableRows(Struct, frozen=True):
    """A table, or a sentence if there are no rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    nothing: str = ""


class Answer(Struct, frozen=True):
    """What a command prints: a value for scripts, text or a table for people."""

    json: object
    text: str | TableRows
    warnings: Sequence[str] = ()
    """Printed to standard error in either case."""
    exit_code: int = 0


# What is kept as a code, and said in English.
REASONS = {"error", "last_error", "state_reason"}


def pick(noun: object, names: str, **others: object) -> dict[str, object]:
    """Shape a noun for scripts: these fields of it, and others, named as in the REST API."""
    fields = {name: getattr(noun, name) for name in names.split()} | others
    fields |= {name: say(kept) for name, kept in fields.items() if name in REASONS and isinstance(kept, str)}
    return {_camel(name): value for name, value in fields.items()}


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer, and exit if it asks for that."""
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer.json, enc_hook=_plain)).decode() + "\n")
    elif isinstance(answer.text, TableRows):
        print_rows(answer.text)
    else:
        console.print(answer.text)
    for warning in answer.warnings:
        typer.echo(warning, err=True)
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def print_rows(shown: TableRows) -> None:
    if not shown.rows:
        console.print(shown.nothing)
        return
    table = Table(*shown.columns, box=None, pad_edge=False, header_style="bold")
    for row in shown.rows:
        table.add_row(*(_format_cell(cell) for cell in row))
    console.print(table)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def _format_cell(cell: object) -> str:
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
