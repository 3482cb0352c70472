"""A backup is restored as it was created: its secret key signs everything in it."""

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from openslot.platform.backups.archive import DUMP, KEY, Backup, Manifest, opened_dump, read_backup, write_archive
from openslot.platform.backups.signature import PURPOSE, sign
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import Signer
from openslot.platform.core.secrets import KEY_FILE, new_key
from tests.cli.conftest import restored, rows_of

pytestmark = pytest.mark.own_database

OURS, ANOTHER = new_key(), new_key()


def keys_of(backup: Backup) -> tuple[str, ...]:
    return tuple((backup.secret_key or "").split())


def rewrite(backup: Backup, manifest: Manifest, *, secret_key: str | None) -> Backup:
    """Write a backup again as someone would who can change the file."""
    path = backup.path.with_name("changed.tar")
    kept = {name: seal for name, seal in manifest.checksums.items() if name != KEY}
    key = {KEY: hashlib.sha256(secret_key.encode()).hexdigest()} if secret_key is not None else {}
    changed = replace(manifest, checksums=kept | key, has_secret_key=secret_key is not None)
    with opened_dump(backup.path) as dump:
        write_archive(path, changed, dump=dump, secret_key=secret_key)
    return read_backup(path)


def keyless(backup: Backup, *, signed_by: str) -> Backup:
    """Return the backup as an installation with OPENSLOT_SECRET_KEY creates it."""
    plain = rewrite(backup, backup.manifest, secret_key=None)
    return rewrite(backup, sign(plain.manifest, (signed_by,)), secret_key=None)


async def check_refused(settings: Settings, backup: Backup, why: str) -> None:
    with pytest.raises(StartupError, match=rf"{why}.* Nothing was changed\.$"):
        await restored(settings, backup)
    assert await rows_of(settings) == {}


async def test_a_changed_description_is_refused(backup: Backup, elsewhere: Settings) -> None:
    manifest, key = backup.manifest, backup.secret_key
    for changed in (
        replace(manifest, rows={**manifest.rows, "users": 0}),
        replace(manifest, rows={}),
        replace(manifest, version="9.9"),
        replace(manifest, migrations={}),
        replace(manifest, key_proof="no hexadecimal number"),
        replace(manifest, format=1),
    ):
        await check_refused(elsewhere, rewrite(backup, changed, secret_key=key), "was changed after it was created")


async def test_a_key_that_was_added_is_refused(backup: Backup, elsewhere: Settings) -> None:
    changed = rewrite(backup, backup.manifest, secret_key=f"{ANOTHER}\n{backup.secret_key}")

    await check_refused(elsewhere, changed, "the secret key in it has not signed it as it is")
    assert not (elsewhere.data_dir / KEY_FILE).exists()


async def test_each_key_of_the_setting_can_have_signed(backup: Backup, elsewhere: Settings) -> None:
    signed = keyless(backup, signed_by=OURS)

    await check_refused(replace(elsewhere, secret_key=ANOTHER), signed, "no key in OPENSLOT_SECRET_KEY has")
    told = await restored(replace(elsewhere, secret_key=f"{ANOTHER},{OURS}"), signed)
    assert (told.signed, await rows_of(elsewhere)) == ("everything", backup.manifest.rows)


async def test_the_key_in_a_backup_does_not_replace_that_of_the_setting(backup: Backup, elsewhere: Settings) -> None:
    await check_refused(replace(elsewhere, secret_key=ANOTHER), backup, "no key in OPENSLOT_SECRET_KEY has")


async def test_the_key_in_a_backup_does_not_replace_that_of_the_machine(backup: Backup, elsewhere: Settings) -> None:
    path = elsewhere.data_dir / KEY_FILE
    path.parent.mkdir()
    path.write_text(f"{OURS}\n")
    forged = rewrite(backup, backup.manifest, secret_key=ANOTHER)
    forged = rewrite(backup, sign(forged.manifest, (ANOTHER,)), secret_key=ANOTHER)

    await check_refused(elsewhere, forged, f"no key in {path} has.* move {path} away if .* never used.* --unverified")
    assert path.read_text() == f"{OURS}\n"
    assert (await restored(elsewhere, backup, unverified=True)).signed == "nothing"
    assert path.read_text() == f"{backup.secret_key}{OURS}\n"


async def test_a_backup_of_the_machine_itself_is_restored_with_its_key(backup: Backup, elsewhere: Settings) -> None:
    (elsewhere.data_dir).mkdir()
    (elsewhere.data_dir / KEY_FILE).write_text(f"{OURS}\n{backup.secret_key}")

    assert (await restored(elsewhere, backup)).signed == "everything"


async def test_without_any_key_a_backup_is_restored_only_if_the_operator_says_so(
    backup: Backup, elsewhere: Settings
) -> None:
    signed = keyless(backup, signed_by=OURS)

    await check_refused(elsewhere, signed, "can't be checked: it has no secret key")
    elsewhere.data_dir.mkdir(exist_ok=True)
    (elsewhere.data_dir / KEY_FILE).write_text(f"{ANOTHER}\n")
    await check_refused(elsewhere, signed, f"no key in {elsewhere.data_dir / KEY_FILE} has")
    assert (await restored(elsewhere, signed, unverified=True)).signed == "nothing"


async def test_the_signature_of_an_older_version_covers_the_data(
    backup: Backup, elsewhere: Settings, tmp_path: Path
) -> None:
    proof = Signer(keys_of(backup)).sign(PURPOSE, backup.manifest.checksums[DUMP].encode())
    older = replace(backup.manifest, format=1, key_proof=proof.hex())
    foreign = replace(older, key_proof=Signer((ANOTHER,)).sign(PURPOSE, older.checksums[DUMP].encode()).hex())

    await check_refused(elsewhere, rewrite(backup, foreign, secret_key=backup.secret_key), "was changed")
    told = await restored(elsewhere, rewrite(backup, older, secret_key=backup.secret_key))
    assert told.signed == "data"
