"""What every test can ask for: a real PostgreSQL, a fresh database, a runtime, a live server, people and a browser."""

import asyncio
import gc
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.secrets import KEY_FILE, read_key_file
from openslot.platform.core.work import Clock, Runtime, system_clock
from openslot.runtime import open_runtime
from tests.support.browsers import open_browser
from tests.support.command_line import cli, command_line
from tests.support.databases import UNSAFE_AND_FAST, copy_data_dir, fast_dir, new_database, prepare_data_dir
from tests.support.live import connect, serving
from tests.support.once import made_once
from tests.support.order import put_longest_first
from tests.support.passwords import CHEAP, PASSWORD, hashing_cheaply
from tests.support.promises import mark_promises
from tests.support.races import WebPair, running_pair
from tests.support.shared_database import LeftRunningError, SharedDatabase, end_tasks, sharing

__all__ = ["cli", "command_line"]


pytest_plugins = [
    f"tests.support.{name}" for name in ("parts", "reads_only", "processes", "durations", "examples", "loaded")
]


def pytest_collection() -> None:
    """Let the garbage collector rest while modules are imported and tests are made: all of it stays."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and mark the tests of promises."""
    put_longest_first(items)
    mark_promises(items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Spare the garbage collector what was imported: it stays until the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def prepared_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped server's data directory with a migrated template, to copy: one for all processes of the run."""
    return made_once(tmp_path_factory, "prepared", prepare_data_dir)


@pytest.fixture(scope="session")
def postgres_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the tests' PostgreSQL keeps its data and its log."""
    with fast_dir(tmp_path_factory.mktemp("postgres")) as place:
        yield place


@pytest.fixture(scope="session")
def postgres_log(postgres_dir: Path) -> Path:
    """What the tests' PostgreSQL has to say."""
    return postgres_dir / "postgres.log"


@pytest.fixture(scope="session")
def postgres(postgres_dir: Path, prepared_data_dir: Path) -> Iterator[str]:
    """A PostgreSQL server with one migrated database to copy from."""
    copy_data_dir(prepared_data_dir, postgres_dir)
    server = start_server(postgres_dir, options=UNSAFE_AND_FAST)
    yield server.url
    stop_server(postgres_dir)


@pytest.fixture(scope="session")
def first_data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the secret key is that opens the shared database."""
    place = tmp_path_factory.mktemp("first")
    read_key_file(place / KEY_FILE)
    return place


@pytest.fixture(scope="session")
async def shared_database(postgres: str, first_data_dir: Path) -> AsyncIterator[SharedDatabase]:
    """The one database of all tests that need none of their own."""
    async with new_database(postgres) as url:
        # The data keys are made once: a first start takes longer than most tests.
        async with open_runtime(load_settings({"database_url": url, "data_dir": first_data_dir}, environ={})):
            pass
        async with sharing(url) as shared:
            yield shared


@pytest.fixture
async def database_url(
    postgres: str, shared_database: SharedDatabase, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A migrated database with data keys alone; with the mark `own_database`, one that the test may do anything to.

    For tests with the mark `reads_only`, one that refuses what they write.
    """
    if request.node.get_closest_marker("own_database"):
        async with new_database(postgres) as url:
            yield url
    else:
        before = asyncio.all_tasks()
        reads_only = request.node.get_closest_marker("reads_only")
        yield request.getfixturevalue("reader_url") if reads_only else shared_database.url
        left = await end_tasks(before)
        await shared_database.put_back()
        if left:
            raise LeftRunningError(f"the test has left tasks running: {left}")


@pytest.fixture(scope="session")
async def long_running_pair(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WebPair]:
    """The two web processes of all tests that need two and neither stop nor change them."""
    async with new_database(postgres) as url, running_pair(url, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture
async def web_pair(long_running_pair: WebPair) -> AsyncIterator[WebPair]:
    """Two web processes on a database without rows."""
    yield long_running_pair
    await long_running_pair.database.put_back()


@pytest.fixture
def settings(database_url: str, tmp_path: Path, first_data_dir: Path) -> Settings:
    """Settings of a small installation, with the secret key that opens the shared database."""
    shutil.copy(first_data_dir / KEY_FILE, tmp_path)
    flags = {"database_url": database_url, "data_dir": tmp_path, "log_level": "error"}
    # On a busy machine, those who come at once may wait for each other longer than people would.
    chosen = load_settings({**flags, "database_wait_seconds": 60, "database_statement_seconds": 60}, environ={})
    set_up_logging(chosen)
    return chosen


@pytest.fixture
def clock() -> Clock:
    """The clock of runtime and server: the real one, unless a folder or file has another (`support/clocks.py`)."""
    return system_clock


@pytest.fixture
async def runtime(settings: Settings, clock: Clock) -> AsyncIterator[Runtime]:
    """An open runtime on a database of the test's own."""
    async with open_runtime(settings, clock=clock) as opened:
        yield opened


@pytest.fixture
async def client(settings: Settings, clock: Clock) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of a live server."""
    async with serving(create_app(settings, clock=clock)) as base_url, connect(base_url, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Hash passwords at a cost that tests can afford."""
    with hashing_cheaply():
        yield


@pytest.fixture(scope="session", autouse=True)
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely: making one app would otherwise set off two collections."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    yield
    gc.set_threshold(*before)


@pytest.fixture(scope="session", autouse=True)
def _cheap_signals() -> Iterator[None]:
    """Spare Python an error message for each test, which writes out all that asyncio's handler of SIGINT holds."""
    find = signal._int_to_enum  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            signal, "_int_to_enum", lambda value, kind: find(value, kind) if isinstance(value, int) else value
        )
        yield


@pytest.fixture(scope="session")
def password_hash() -> str:
    """The hash of everyone's password."""
    return CHEAP.hash(PASSWORD)


@pytest.fixture
async def user(runtime: Runtime, password_hash: str) -> User:
    """A host with the Pro plan."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="mara@lindqvist.example", name="Mara Lindqvist", username="mara", plan=Plan.PRO)
        return await people.welcome_user(work, wanted, password_hash=password_hash)


@pytest.fixture
async def admin(runtime: Runtime, password_hash: str) -> User:
    """An administrator of the platform."""
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(
            email="admin@openslot.example", name="Ada Admin", username="ada", plan=Plan.BUSINESS, is_admin=True
        )
        return await people.welcome_user(work, wanted, password_hash=password_hash)


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
