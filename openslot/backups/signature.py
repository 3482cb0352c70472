"""The signature of a backup: over its whole manifest, which has the checksums of everything else."""

from typing import Literal

import msgspec
from msgspec.structs import replace

from openslot.backups.archive import DUMP, Backup, Manifest
from openslot.core.config import Settings
from openslot.core.errors import StartupError
from openslot.core.ids import Signer
from openslot.core.secrets import KEY_FILE, load_secrets, read_keys

PURPOSE = "backup"
Signed = Literal["everything", "data", "nothing"]
"""What the signature of a backup was checked for. Until format 2, only the data was signed."""


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
    """Refuse a backup that was changed, or that no key here or in it has signed; return what was signed."""
    keys = _find_keys(settings, backup)
    if not keys:
        raise StartupError(
            f"{backup.path} can't be checked: it has no secret key, and there is none here. Set OPENSLOT_SECRET_KEY to "
            "the key of the installation that created it. If that key is lost and you trust the file, repeat the "
            "command with --unverified. Nothing was changed."
        )
    if not is_signed(backup.manifest, keys):
        raise StartupError(f"{backup.path} {_say_why(settings, backup)} Nothing was changed.")
    return "data" if backup.manifest.format == 1 else "everything"


def _signed_text(manifest: Manifest) -> bytes:
    if manifest.format == 1:
        return manifest.checksums[DUMP].encode()
    return msgspec.json.encode(replace(manifest, key_proof=""))


def _find_keys(settings: Settings, backup: Backup) -> tuple[str, ...]:
    """Return the keys that the restored service will have, except those that were here by chance."""
    if settings.secret_key is not None:
        return load_secrets(settings.secret_key, settings.data_dir).keys
    if backup.secret_key is not None:
        return tuple(backup.secret_key.split())
    path = settings.data_dir / KEY_FILE
    return tuple(read_keys(path)) if path.exists() else ()


def _say_why(settings: Settings, backup: Backup) -> str:
    if settings.secret_key is None and backup.secret_key is not None:
        return "was changed after it was created: the secret key in it has not signed it as it is."
    here = "in OPENSLOT_SECRET_KEY" if settings.secret_key is not None else f"in {settings.data_dir / KEY_FILE}"
    return (
        f"was changed after it was created, or another secret key has signed it: no key {here} has. In the second "
        "case, set OPENSLOT_SECRET_KEY to your key, a comma and the key of the installation that created it. If that "
        "key is lost and you trust the file, repeat the command with --unverified."
    )
