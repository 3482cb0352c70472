"""What every test can ask for: a real PostgreSQL, a fresh database, a runtime, a live server, people and a browser."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from playwright.async_api import Browser

from openslot.access import operations as access
from openslot.access.passwords import hash_password
from openslot.accounts.models import User, UserWanted
from openslot.accounts.plans import Plan
from openslot.app import create_app
from openslot.core.actor import OPERATOR
from openslot.core.config import Settings, load_settings
from openslot.core.embedded import start_server, stop_server
from openslot.core.ids import new_id
from openslot.core.log import set_up_logging
from openslot.core.migrate import migrate
from openslot.core.work import Runtime
from openslot.people import operations as people
from openslot.runtime import open_runtime
from tests.browsing import open_browser
from tests.live import connect, serving

UNSAFE_AND_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"}
PASSWORD = "correct horse battery"
TEMPLATE = "template_openslot"


@pytest.fixture(scope="session")
def postgres_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests' PostgreSQL keeps its data and its log."""
    return tmp_path_factory.mktemp("postgres")


@pytest.fixture(scope="session")
def postgres_log(postgres_dir: Path) -> Path:
    """What the tests' PostgreSQL has to say."""
    return postgres_dir / "postgres.log"


@pytest.fixture(scope="session")
def postgres(postgres_dir: Path) -> Iterator[str]:
    """A PostgreSQL server with one migrated database to copy from."""
    server = start_server(postgres_dir, options=UNSAFE_AND_FAST)
    asyncio.run(_make_template(server.url))
    yield server.url
    stop_server(postgres_dir)


async def _make_template(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"create database {TEMPLATE}")
    await connection.close()
    await migrate(database_at(url, TEMPLATE))


def database_at(url: str, name: str) -> str:
    """Name another database of the same server."""
    return url.replace("/openslot?", f"/{name}?")


@pytest.fixture
async def database_url(postgres: str) -> AsyncIterator[str]:
    """A migrated database of the test's own."""
    name = f"test_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
    yield database_at(postgres, name)
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of a small installation."""
    chosen = load_settings({"database_url": database_url, "data_dir": tmp_path, "log_level": "error"}, environ={})
    set_up_logging(chosen)
    return chosen


@pytest.fixture
async def runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """An open runtime on a database of the test's own."""
    async with open_runtime(settings) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of a live server."""
    async with serving(create_app(settings)) as base_url, connect(base_url) as opened:
        yield opened


@pytest.fixture(scope="session")
def password_hash() -> str:
    """The hash of everyone's password, made once because it is meant to be slow."""
    return asyncio.run(hash_password(PASSWORD))


@pytest.fixture
async def user(runtime: Runtime, password_hash: str) -> User:
    """A host with the Pro plan."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="mara@lindqvist.example", name="Mara Lindqvist", username="mara", plan=Plan.PRO)
        return await people.welcome(work, wanted, password_hash=password_hash)


@pytest.fixture
async def admin(runtime: Runtime, password_hash: str) -> User:
    """An administrator of the platform."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(
            email="admin@openslot.example", name="Ada Admin", username="ada", plan=Plan.BUSINESS, is_admin=True
        )
        return await people.welcome(work, wanted, password_hash=password_hash)


@pytest.fixture
async def api_key(runtime: Runtime, user: User) -> str:
    """An active API key of the host."""
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="test")
        return key


@pytest.fixture
def bearer(api_key: str) -> dict[str, str]:
    """The header that opens the REST door."""
    return {"Authorization": f"Bearer {api_key}"}


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The one browser of all tests."""
    async with open_browser() as opened:
        yield opened


@pytest.fixture
async def browser(chromium: Browser) -> AsyncIterator[Browser]:
    """The browser, without what earlier tests opened in it."""
    yield chromium
    for context in list(chromium.contexts):
        await context.close()
