"""Installations for the terminal's tests: one is made once, and every test gets a copy of it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.people import operations as people
from openslot.platform.backups.archive import Backup, read_backup
from openslot.platform.backups.create import count_rows, create_backup
from openslot.platform.backups.restore import Restored, restore_backup
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from tests.cli.copies import make_copy
from tests.support.databases import EMPTY, STRATEGIES, TEMPLATE, database_at, new_database
from tests.support.installation import Installation, installed
from tests.support.ladder import take_down_ladder
from tests.support.once import made_once

SECRET = "open sesame"
# Reminders are planned for days ahead.
LEFT = "select count(*) from effects where state not in ('done', 'skipped') and reaction <> 'mail.remind'"


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Make a data directory with demo data once for all processes of the run, and keep what `seed` told about it."""
    place = made_once(tmp_path_factory, "furnished", _furnish)
    return place / "data", msgspec.json.decode((place / "seeded.json").read_bytes())


def _furnish(place: Path) -> None:
    with installed(place / "data") as installation:
        (place / "seeded.json").write_bytes(msgspec.json.encode(installation.told("seed")))
        installation.wait_until_gone()
    server = start_server(place / "data")
    asyncio.run(_work_off(server.url, place / "data"))
    stop_server(place / "data")


async def _work_off(url: str, data_dir: Path) -> None:
    """Do what the demo has caused, once for all installations that are copied."""
    settings = load_settings({"database_url": url, "data_dir": data_dir, "log_level": "error"}, environ={})
    async with open_runtime(settings) as runtime:
        stop = asyncio.Event()
        working = asyncio.create_task(run_worker(runtime, stop))
        async with asyncio.timeout(120):
            while await runtime.pool.fetchval(LEFT):
                await asyncio.sleep(0.1)
        stop.set()
        await working


@pytest.fixture
def seeded(furnished: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """Give what `seed` told."""
    return furnished[1]


@pytest.fixture(scope="session")
def home_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this process keeps the installation that it lends."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def home(furnished: tuple[Path, dict[str, Any]], home_dir: Path) -> Iterator[Installation]:
    """Lend an installation that somebody lives in; whatever a test does to it, the next one finds it as it was."""
    place = home_dir / "data"
    make_copy(furnished[0], place)
    with installed(place) as installation:
        yield installation


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Installation]:
    """Lend an installation that has never been started."""
    with installed(tmp_path / "data") as installation:
        yield installation


@pytest.fixture
async def elsewhere(postgres: str, tmp_path: Path) -> AsyncIterator[Settings]:
    """Lend settings of an installation that is empty in every way."""
    async with new_database(postgres, EMPTY) as url:
        yield _settings_of(url, tmp_path / "elsewhere")


async def begin_anew(settings: Settings, postgres: str, *, template: str = EMPTY) -> None:
    """Empty a database, or make it that of a service that has started and was never used."""
    name = (settings.database_url or "").partition("?")[0].rpartition("/")[2]
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"drop database {name} with (force)")
    await connection.execute(f"create database {name} template {template} strategy {STRATEGIES[template]}")
    await connection.close()
    if template == TEMPLATE:
        await take_down_ladder(database_at(postgres, name))


@pytest.fixture
async def sealed(runtime: Runtime, user: User) -> str:
    """Seal a secret into the database."""
    return await _seal(runtime, user)


@pytest.fixture(scope="session")
async def lived_in(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Settings]:
    """Lend settings of an installation where somebody lives and a secret is sealed, to tests that change nothing."""
    async with new_database(postgres) as url:
        settings = _settings_of(url, tmp_path_factory.mktemp("lived_in"))
        async with open_runtime(settings) as runtime:
            async with runtime.transaction(OPERATOR) as work:
                user = await people.welcome_user(
                    work, UserWanted(email="mara@lindqvist.example", name="Mara", username="mara")
                )
            await _seal(runtime, user)
        yield settings


@pytest.fixture(scope="session")
async def made_backup(lived_in: Settings) -> Path:
    """Make a backup of that installation once."""
    path, _ = await create_backup(lived_in, None)
    return path


@pytest.fixture
def backup(made_backup: Path, tmp_path: Path) -> Backup:
    """Lend a copy of the backup."""
    return read_backup(Path(shutil.copy(made_backup, tmp_path / "backup.tar")))


def _settings_of(url: str, data_dir: Path) -> Settings:
    chosen = load_settings({"database_url": url, "data_dir": data_dir, "log_level": "error"}, environ={})
    set_up_logging(chosen)
    return chosen


async def _seal(runtime: Runtime, user: User) -> str:
    sealed = runtime.secrets.seal(SECRET)
    await runtime.pool.execute("create table probe_secrets (user_id uuid, sealed bytea)")
    await runtime.pool.execute("insert into probe_secrets values ($1, $2)", user.id, sealed)
    return SECRET


async def restored(settings: Settings, backup: Backup, *, unverified: bool = False) -> Restored:
    return await asyncio.to_thread(restore_backup, settings, backup, unverified=unverified)


async def rows_of(settings: Settings) -> dict[str, int]:
    connection = await asyncpg.connect(settings.database_url)
    try:
        return await count_rows(connection)
    finally:
        await connection.close()
