"""A backup brings everything back, or changes nothing."""

import asyncio
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import asyncpg
import msgspec
import pytest

from openslot.platform.backups.archive import DUMP, MANIFEST, Backup, Manifest, checksum_of, read_backup, write_archive
from openslot.platform.backups.create import create_backup
from openslot.platform.backups.programs import ServerKind, address, get_program
from openslot.platform.backups.restore import check_known
from openslot.platform.backups.signature import sign
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.migrate import checksum, former_migrations
from openslot.platform.core.secrets import KEY_FILE, SealBroken, load_secrets, rotate_key_file
from openslot.platform.core.work import Runtime
from tests.cli.conftest import SECRET, begin_anew, restored, rows_of
from tests.support.databases import TEMPLATE
from tests.support.installation import Installation, installed

pytestmark = pytest.mark.own_database

WAITING = "select count(*) from pg_locks where relation = 'probe_secrets'::regclass and not granted"
ANOTHER_KEY = "another key of more than thirty-two characters"


async def opened_secret(settings: Settings) -> str:
    connection = await asyncpg.connect(settings.database_url)
    try:
        found: bytes = await connection.fetchval("select sealed from probe_secrets")
    finally:
        await connection.close()
    return load_secrets(settings.secret_key, settings.data_dir).open(found)


@pytest.mark.daily
async def test_a_restore_brings_back_every_row_and_its_key_opens_what_was_sealed(
    lived_in: Settings, backup: Backup, elsewhere: Settings
) -> None:
    told = await restored(elsewhere, backup)
    assert await rows_of(elsewhere) == await rows_of(lived_in) == backup.manifest.rows
    assert (told.rows, told.applied) == (sum(backup.manifest.rows.values()), [])
    assert backup.manifest.rows["users"] == 1
    assert await opened_secret(elsewhere) == SECRET
    assert (elsewhere.data_dir / KEY_FILE).stat().st_mode & 0o777 == 0o600
    (elsewhere.data_dir / KEY_FILE).write_text(f"{ANOTHER_KEY.replace(' ', '-')}\n")
    with pytest.raises(SealBroken):
        await opened_secret(elsewhere)


async def test_a_key_that_is_there_already_is_kept_behind(backup: Backup, elsewhere: Settings) -> None:
    elsewhere.data_dir.mkdir()
    (elsewhere.data_dir / KEY_FILE).write_text(f"{ANOTHER_KEY.replace(' ', '-')}\n")
    await restored(elsewhere, backup, unverified=True)
    keys = (elsewhere.data_dir / KEY_FILE).read_text().split()
    assert keys == [*(backup.secret_key or "").split(), ANOTHER_KEY.replace(" ", "-")]


@pytest.mark.rest("starts processes or databases of its own")
async def test_a_key_from_the_environment_is_neither_kept_nor_written(
    lived_in: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    key = (lived_in.data_dir / KEY_FILE).read_text().strip()
    path, manifest = await create_backup(msgspec.structs.replace(lived_in, secret_key=key), tmp_path / "keyless.tar")
    assert not manifest.has_secret_key
    assert key not in path.read_bytes().decode("latin-1")
    named = msgspec.structs.replace(elsewhere, secret_key=key)
    told = await restored(named, read_backup(path))
    assert told.secret_key == "set by OPENSLOT_SECRET_KEY; no file was written"
    assert not (elsewhere.data_dir / KEY_FILE).exists()
    assert await opened_secret(named) == SECRET


@pytest.mark.rest("starts processes or databases of its own")
async def test_a_backup_that_is_made_while_keys_are_retired_holds_every_key_that_it_may_need(
    settings: Settings, sealed: str, elsewhere: Settings, tmp_path: Path
) -> None:
    path = settings.data_dir / KEY_FILE
    before = path.read_text().split()
    connection = await asyncpg.connect(settings.database_url)
    async with connection.transaction():
        # The dump waits for this table, after the key was read.
        await connection.execute("lock table probe_secrets in access exclusive mode")
        making = asyncio.create_task(create_backup(settings, tmp_path / "during.tar"))
        async with asyncio.timeout(60):
            while not await connection.fetchval(WAITING):
                await asyncio.sleep(0.01)
        assert not making.done()
        rotate_key_file(path)
        (new,) = path.read_text().split()[:1]
        path.write_text(f"{new}\n")
    made, _ = await making
    await connection.close()
    assert (read_backup(made).secret_key or "").split() == [new, *before]
    await restored(elsewhere, read_backup(made))
    assert await opened_secret(elsewhere) == sealed


@pytest.mark.rest("lets many write at once")
async def test_a_backup_taken_while_others_write_is_one_moment(
    settings: Settings, runtime: Runtime, sealed: str, elsewhere: Settings
) -> None:
    assert sealed

    async def write() -> None:
        while True:
            await runtime.pool.execute("insert into probe_secrets select user_id, 'x' from probe_secrets limit 10")
            await asyncio.sleep(0.01)

    writing = asyncio.create_task(write())
    path, manifest = await create_backup(settings, None)
    writing.cancel()
    await restored(elsewhere, read_backup(path))
    assert (await rows_of(elsewhere))["probe_secrets"] == manifest.rows["probe_secrets"]


async def test_a_backup_is_private_and_never_overwrites(lived_in: Settings, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "mine.tar"
    path, manifest = await create_backup(lived_in, target)
    assert (path, path.stat().st_mode & 0o777) == (target, 0o600)
    assert "rate_log" not in manifest.rows
    assert [file.name for file in target.parent.iterdir()] == ["mine.tar"]
    with pytest.raises(StartupError, match="already exists"):
        await create_backup(lived_in, target)


async def test_an_unused_start_makes_room(backup: Backup, elsewhere: Settings, postgres: str) -> None:
    await begin_anew(elsewhere, postgres, template=TEMPLATE)
    await restored(elsewhere, backup)
    assert await rows_of(elsewhere) == backup.manifest.rows


async def test_a_place_where_somebody_lives_is_refused(lived_in: Settings, backup: Backup) -> None:
    with pytest.raises(StartupError, match="The database already has 1 account"):
        await restored(lived_in, backup)


async def test_a_place_that_is_in_use_is_refused(elsewhere: Settings, backup: Backup) -> None:
    connection = await asyncpg.connect(elsewhere.database_url)
    with pytest.raises(StartupError, match=r"The database is in use \(1 other connection\)"):
        await restored(elsewhere, backup)
    await connection.close()


def test_a_backup_of_a_database_that_began_with_the_release_before_is_known(backup: Backup) -> None:
    former = {name: checksum(sql) for name, sql in former_migrations().items()}
    check_known(msgspec.structs.replace(backup, manifest=msgspec.structs.replace(backup.manifest, migrations=former)))


def test_a_backup_of_a_newer_version_or_another_history_is_refused(backup: Backup) -> None:
    newer = msgspec.structs.replace(backup.manifest, migrations={**backup.manifest.migrations, "9999_future.sql": ""})
    with pytest.raises(StartupError, match=r"which is newer: it knows 9999_future.sql. Upgrade first"):
        check_known(msgspec.structs.replace(backup, manifest=newer))
    check_known(backup)
    other = msgspec.structs.replace(backup.manifest, migrations={"0.2.0_01_core.sql": "another"})
    with pytest.raises(StartupError, match=r"0.2.0_01_core.sql differs from the one in the backup"):
        check_known(msgspec.structs.replace(backup, manifest=other))


def cut(path: Path, keeping: int = 50_000) -> None:
    path.write_bytes(path.read_bytes()[:keeping])


def cut_to_the_manifest(path: Path) -> None:
    cut(path, keeping=4096)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def write_prose(path: Path) -> None:
    path.write_text("Once upon a time. " * 1000)


def empty_it(path: Path) -> None:
    path.write_bytes(b"")


def put_another_tar(path: Path) -> None:
    with tarfile.open(path, "w") as tar:
        tar.add(__file__, MANIFEST)


def test_a_damaged_or_foreign_file_is_told_in_one_sentence(backup: Backup, tmp_path: Path) -> None:
    harms: list[Callable[[Path], None]] = [
        cut,
        cut_to_the_manifest,
        flip_a_byte,
        write_prose,
        empty_it,
        put_another_tar,
    ]
    for harm in harms:
        harmed = Path(shutil.copy(backup.path, tmp_path / harm.__name__))
        harm(harmed)
        with pytest.raises(StartupError, match=r"(damaged|not a backup of Openslot).* Nothing was changed"):
            read_backup(harmed)


def altered(backup: Backup, *, dump: Path, manifest: Manifest) -> Backup:
    """Write the backup again with another manifest, its checksums and its signature in order."""
    path = backup.path.with_name("altered.tar")
    with dump.open("rb") as file:
        sealed = msgspec.structs.replace(manifest, checksums={**manifest.checksums, DUMP: checksum_of(file)})
        signed = sign(sealed, tuple((backup.secret_key or "").split()))
        write_archive(path, signed, dump=file, secret_key=backup.secret_key)
    return read_backup(path)


@pytest.fixture
def dump(backup: Backup, tmp_path: Path) -> Path:
    """Take the dump out of a backup."""
    with tarfile.open(backup.path) as tar, cast("IO[bytes]", tar.extractfile(DUMP)) as packed:
        (tmp_path / DUMP).write_bytes(packed.read())
    return tmp_path / DUMP


async def test_rows_that_are_not_as_promised_undo_everything(backup: Backup, dump: Path, elsewhere: Settings) -> None:
    promised = msgspec.structs.replace(backup.manifest, rows={**backup.manifest.rows, "users": 2})
    with pytest.raises(StartupError, match="table users has not the rows that were backed up"):
        await restored(elsewhere, altered(backup, dump=dump, manifest=promised))
    assert await rows_of(elsewhere) == {}
    assert not (elsewhere.data_dir / KEY_FILE).exists()


async def test_a_dump_that_ends_early_undoes_everything(backup: Backup, dump: Path, elsewhere: Settings) -> None:
    cut(dump, keeping=-100)
    with pytest.raises(StartupError, match=r"can't be restored: .* Nothing was changed"):
        await restored(elsewhere, altered(backup, dump=dump, manifest=backup.manifest))
    assert await rows_of(elsewhere) == {}


def test_a_program_that_does_not_fit_the_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert get_program("pg_dump", ServerKind(15, encrypted=False)).endswith("pg_dump")
    with pytest.raises(StartupError, match="PostgreSQL 99, newer than the pg_dump 18"):
        get_program("pg_dump", ServerKind(99, encrypted=False))
    with pytest.raises(StartupError, match="connection to the database is encrypted"):
        get_program("pg_dump", ServerKind(16, encrypted=True))


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://ada:p%40ss@db:5433/x?sslmode=require", "postgresql://ada@db:5433/x?sslmode=require", "p@ss"),
        ("postgresql:///x?host=/run/my%20db&password=p", "postgresql:///x?host=/run/my%20db", "p"),
        ("postgresql://postgres@/x?host=/data", "postgresql://postgres@/x?host=/data", None),
    ],
)
def test_no_password_is_among_a_programs_arguments(
    url: str, shown: str, password: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    told = address(url)
    assert (told.url, told.environment.get("PGPASSWORD")) == (shown, password)


def test_an_operator_moves_to_another_machine_with_two_commands(home: Installation, tmp_path: Path) -> None:
    made = home.told("backup", "create")
    assert home.told("backup", "list") == {"backups": [made]}
    with installed(tmp_path / "new") as new:
        told = new.told("backup", "restore", made["file"])
        assert (told["rows"], told["tables"]) == (made["rows"], made["tables"])
        assert new.told("user", "list") == home.told("user", "list")
        assert (new.data_dir / KEY_FILE).read_text() == (home.data_dir / KEY_FILE).read_text()
        code, _, err = new.run("backup", "restore", made["file"])
        assert code == 1
        assert err.startswith("openslot: The database already has 3 accounts.")
        new.wait_until_gone(within=0.5)
