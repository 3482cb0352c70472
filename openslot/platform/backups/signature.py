"""The signature of a backup: over its whole manifest, which has the checksums of everything else."""

from typing import Literal

import msgspec
from msgspec.structs import replace

from openslot.platform.backups.archive import DUMP, Backup, Manifest
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import Signer
from openslot.platform.core.secrets import KEY_FILE, load_secrets, read_keys

PURPOSE = "backup"
Signed = Literal["everything", "data", "nothing"]
"""The scope of a backup's signature. Until format 2, only the data was signed."""


def sign(manifest: Manifest, keys: tuple[str, ...]) -> Manifest:
    return replace(manifest, key_proof=Signer(keys).sign(PURPOSE, _signed_text(manifest)).hex())


def is_signed(manifest: Manifest, keys: tuple[str, ...]) -> bool:
    """Return whether one of these keys has signed this manifest as it is."""
    try:
        signature = bytes.fromhex(manifest.key_proof)
    except ValueError:
        return False
    return Signer(keys).is_signed(PURPOSE, _signed_text(manifest), signature)


def check_signature(settings: Settings, backup: Backup) -> Signed:
    """Refuse a backup that was changed, or that no key here has signed, or, without one, in it; return what was."""
    keys = _find_keys(settings, backup)
    if not keys:
        raise StartupError(
            f"{backup.path} can't be checked: it has no secret key, and there is none here. Set OPENSLOT_SECRET_KEY to "
            "the key of the installation that created it. If that key is lost and you trust the file, repeat the "
            "command with --unverified. Nothing was changed."
        )
    if not is_signed(backup.manifest, keys):
        raise StartupError(f"{backup.path} {_say_why(settings)} Nothing was changed.")
    return "data" if backup.manifest.format == 1 else "everything"


def _signed_text(manifest: Manifest) -> bytes:
    if manifest.format == 1:
        return manifest.checksums[DUMP].encode()
    return msgspec.json.encode(replace(manifest, key_proof=""))


def _find_keys(settings: Settings, backup: Backup) -> tuple[str, ...]:
    """Return the keys of this machine; only if it has none, those that the backup brings."""
    if settings.secret_key is not None:
        return load_secrets(settings.secret_key, settings.data_dir).keys
    path = settings.data_dir / KEY_FILE
    if path.exists():
        return tuple(read_keys(path))
    return tuple(backup.secret_key.split()) if backup.secret_key is not None else ()


def _say_why(settings: Settings) -> str:
    path = settings.data_dir / KEY_FILE
    if settings.secret_key is not None:
        return _say_of_others(
            "in OPENSLOT_SECRET_KEY",
            "set OPENSLOT_SECRET_KEY to your key, a comma and the key of the installation that created it. If that "
            "key is lost and you trust the file,",
        )
    if path.exists():
        return _say_of_others(
            f"in {path}", f"move {path} away if this installation was never used, or, if you trust the backup,"
        )
    return "was changed after it was created: the secret key in it has not signed it as it is."


def _say_of_others(here: str, advice: str) -> str:
    return (
        f"was changed after it was created, or another secret key has signed it: no key {here} has. In the second "
        f"case, {advice} repeat the command with --unverified."
    )
