"""backup …: keep everything, and bring it back."""

import typer

app = typer.Typer(help="Backups.", no_args_is_help=True, add_completion=False)
