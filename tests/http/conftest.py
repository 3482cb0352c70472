"""One live server with probes for a whole file: what it is asked leaves nothing behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest

from openslot.access import operations as access
from openslot.accounts.models import UserWanted
from openslot.accounts.plans import Plan
from openslot.app import create_app
from openslot.core.actor import OPERATOR
from openslot.core.config import load_settings
from openslot.core.ids import new_id
from openslot.core.log import set_up_logging
from openslot.people import operations as people
from openslot.runtime import open_runtime
from tests.databases import TEMPLATE, database_at
from tests.http.probes import PROBES
from tests.live import connect, serving

METRICS_TOKEN = "the token of a reader of the metrics".replace(" ", "-")


@pytest.fixture(scope="module")
async def probe(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the probes beside the real routes, to a client with a key."""
    name = f"probe_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
    settings = load_settings(
        {
            "database_url": database_at(postgres, name),
            "data_dir": tmp_path_factory.mktemp("probe"),
            "limit_key": 1_000_000,
            "limit_failed_auth": 1_000_000,
            "log_level": "error",
            "trusted_proxies": "127.0.0.1",
            "metrics_token": METRICS_TOKEN,
        },
        environ={},
        dotenv=Path("none"),
    )
    set_up_logging(settings)
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        user = await people.welcome(work, UserWanted(email="p@probe.example", name="Probe", plan=Plan.PRO))
        key, _ = await access.create_api_key(work, user, name="probe")
    app = create_app(settings, more_routes=PROBES)
    async with serving(app) as url, connect(url, timeout=20) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        yield client
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()
