"""secret …: the key that seals secrets at rest."""

import typer

from openslot.cli.environment import settings
from openslot.cli.output import AsJson, console, print_json
from openslot.core.errors import StartupError
from openslot.core.key_file import KEY_FILE, rotate_key_file

app = typer.Typer(help="The key that seals secrets.", no_args_is_help=True, add_completion=False)


@app.callback()
def group() -> None:
    """Look after the key that seals secrets."""


@app.command("rotate")
def rotate(as_json: AsJson = False) -> None:
    """Put a new key in front: it seals from the next start on, and the old ones still open."""
    chosen = settings()
    if chosen.secret_key is not None:
        raise StartupError(
            "The secret key is set by OPENSLOT_SECRET_KEY: put a new one in front of it there, with a comma between."
        )
    path = chosen.data_dir / KEY_FILE
    if not path.exists():
        raise StartupError(f"There is no secret key in {chosen.data_dir} yet; the first start makes one.")
    keys = len(rotate_key_file(path))
    if as_json:
        print_json({"file": path, "keys": keys})
        return
    console.print(
        f"A new key is in {path}; {keys - 1} older {'opens' if keys == 2 else 'open'} what was sealed before."
    )
    console.print("Restart openslot to use it.")
