"""secret …: the key that seals secrets at rest."""

import asyncio
from typing import Annotated

import typer
from msgspec import Struct

from openslot.cli.output import Answer, AsJson, show
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.secrets import KEY_FILE, changing_keys, rotate_key_file
from openslot.platform.core.work import Runtime
from openslot.processes.environment import settings

app = typer.Typer(help="The key that encrypts stored secrets.", no_args_is_help=True, add_completion=False)


class Retired(Struct, frozen=True, kw_only=True):
    resealed: int
    retired: int


@app.callback()
def group() -> None:
    """Manage the key that encrypts stored secrets."""


@app.command("rotate")
def rotate(as_json: AsJson = False) -> None:
    """Add a new key. It is used once the old keys are retired."""
    chosen = settings()
    if chosen.secret_key is not None:
        raise StartupError(
            "The secret key is set by OPENSLOT_SECRET_KEY: prepend the new key there, separated by a comma."
        )
    _check_file(chosen)
    path = chosen.data_dir / KEY_FILE
    keys = len(rotate_key_file(path))
    next_step = "To encrypt everything with it and remove the older keys: openslot secret retire"
    text = f"A new key was added in {path}; there are now {keys}.\n{next_step}"
    show(Answer({"file": path, "keys": keys}, text), as_json=as_json)


@app.command("retire")
def retire(as_json: AsJson = False) -> None:
    """Encrypt everything again with the newest key, then remove the old keys."""
    chosen = settings()
    done = _reseal() if chosen.secret_key is not None else _reseal_and_remove(chosen)
    keys = "1 old key" if done.retired == 1 else f"{done.retired} old keys"
    values = "1 value was" if done.resealed == 1 else f"{done.resealed} values were"
    if not done.retired:
        removed = "There is no older key."
    elif chosen.secret_key is None:
        removed = f"Removed {keys} from {chosen.data_dir / KEY_FILE}."
    else:
        removed = f"Remove {keys} from OPENSLOT_SECRET_KEY, all but the first, on every machine, and restart."
    text = f"Everything is encrypted with the newest key; {values} encrypted again.\n{removed}"
    show(Answer(done, text), as_json=as_json)


@app.command("reset")
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Confirm: every link that was sent stops working")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a new data key after the secret key was lost. Links that were sent stop working."""
    if not yes:
        raise StartupError(
            "This is for a secret key that is lost: every manage link that was sent stops working, and webhook secrets "
            "have to be rotated. To do it: openslot secret reset --yes"
        )
    from openslot.platform.core.migrate import check_migrated, direct_url
    from openslot.processes.environment import database

    with database(settings()) as ready:
        asyncio.run(check_migrated(direct_url(ready)))
        is_reset = asyncio.run(_replace_lost(ready))
    nothing = "Nothing was changed: the secret key opens this database."
    text = "A new data key was created. Restart openslot." if is_reset else nothing
    show(Answer({"reset": is_reset}, text), as_json=as_json)


def _reseal_and_remove(chosen: Settings) -> Retired:
    _check_file(chosen)
    # Committed before the file changes: by then nothing needs the keys that are removed from it.
    with changing_keys(chosen.data_dir / KEY_FILE, lambda keys: keys[:1]):
        return _reseal()


def _reseal() -> Retired:
    from openslot.platform.core.progress import progress
    from openslot.platform.core.sealing import count_sealed, reseal_all
    from openslot.processes.runtimes import with_runtime
    from openslot.wiring import SEALED

    async def reseal(runtime: Runtime) -> Retired:
        with progress("Sealing", await count_sealed(runtime.pool, SEALED)) as advance:
            resealed = await reseal_all(runtime.pool, runtime.secrets, SEALED, advance=advance)
        return Retired(resealed=resealed, retired=len(runtime.secrets.keys) - 1)

    return with_runtime(reseal)


async def _replace_lost(ready: Settings) -> bool:
    from openslot.platform.core.db import open_pool
    from openslot.platform.core.migrate import direct_url
    from openslot.platform.core.profiles import COMMANDS
    from openslot.platform.core.sealing import replace_lost_data_keys
    from openslot.platform.core.secrets import load_secrets
    from openslot.platform.core.work import system_clock

    pool = await open_pool(direct_url(ready), max_=1, profile=COMMANDS)
    try:
        secrets = load_secrets(ready.secret_key, ready.data_dir, is_first=True)
        return await replace_lost_data_keys(pool, secrets, now=system_clock())
    finally:
        await pool.close()


def _check_file(chosen: Settings) -> None:
    if not (chosen.data_dir / KEY_FILE).exists():
        raise StartupError(f"There is no secret key in {chosen.data_dir} yet; the first start creates one.")
