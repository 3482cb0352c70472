"""backup …: create, restore and list backups."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from openslot.cli.output import Answer, AsJson, TableRows, show
from openslot.platform.backups.archive import read_backup
from openslot.platform.backups.create import create_backup, describe_backup, find_backups
from openslot.platform.backups.restore import check_known, restore_backup
from openslot.platform.backups.signature import Signed
from openslot.processes.environment import database, settings

CHECKED: dict[Signed, str] = {
    "data": "An older version created this backup: its data is signed and unchanged, its description was not signed.",
    "nothing": "Its signature was not checked.",
}
app = typer.Typer(help="Backups.", no_args_is_help=True, add_completion=False)


@app.command("create")
def create(
    to: Annotated[Path | None, typer.Option(help="A file or a directory [default: DATA_DIR/backups]")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a backup in one file. The service can keep running."""
    with database(settings()) as ready:
        path, manifest = asyncio.run(create_backup(ready, to))
    made = describe_backup(path, manifest)
    lines = [f"Backed up {made.rows} rows of {made.tables} tables to {path}"]
    if not manifest.has_secret_key:
        lines.append("The secret key is set by OPENSLOT_SECRET_KEY and not in the backup: keep it in another place.")
    show(Answer(made, "\n".join(lines)), as_json=as_json)


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="A file created by `backup create`")],
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Don't check the signature: the key is lost and you trust the file")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty data directory or database."""
    backup = read_backup(file)
    check_known(backup)
    with database(settings()) as ready:
        restored = restore_backup(ready, backup, unverified=unverified)
    first = f"Restored {restored.rows} rows of {restored.tables} tables from {file}"
    key = f"The secret key is {restored.secret_key}."
    lines = [first, key, *([CHECKED[restored.signed]] if restored.signed in CHECKED else [])]
    show(Answer(restored, "\n".join(lines)), as_json=as_json)


@app.command("list")
def list_backups(as_json: AsJson = False) -> None:
    """List the backups in the data directory, newest first."""
    found = find_backups(settings())
    rows = [(b.file, b.created_at, f"{b.size / 1e6:.1f} MB", b.version, b.rows, b.fault or "ok") for b in found]
    columns = ("File", "Created", "Size", "Version", "TableRows", "State")
    table = TableRows(columns, rows, "No backups yet. Create one: openslot backup create")
    show(Answer({"backups": found}, table), as_json=as_json)
