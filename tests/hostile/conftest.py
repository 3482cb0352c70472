"""One web process for all bad clients, and an address of its own for each of them."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.environment import load_settings
from openslot.platform.core.ids import new_id
from openslot.runtime import open_runtime
from tests.hostile.server import Server, web_process
from tests.support.databases import TEMPLATE, database_at

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Lend a web process with small limits."""
    directory = tmp_path_factory.mktemp("hostile")
    name = f"hostile_{new_id().hex}"
    url = database_at(postgres, name)
    key = asyncio.run(_furnish(postgres, name, url, directory))
    with web_process(url, key, directory) as running:
        yield running


@pytest.fixture
def source() -> str:
    """Name an address that no other test comes from."""
    return new_source()


def new_source() -> str:
    """Name an address that nobody has come from."""
    number = next(NUMBERS)
    return f"127.1.{number // 250}.{number % 250 + 1}"


async def _furnish(postgres: str, name: str, url: str, directory: Path) -> str:
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
    await connection.close()
    settings = load_settings({"database_url": url, "data_dir": directory}, environ={})
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email="h@host.example", name="Host", plan=Plan.PRO))
        key, _ = await access.create_api_key(work, user, name="hostile")
        return key
