"""One live server with probes for all of these tests: what it is asked leaves nothing behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.runtime import open_runtime
from tests.doors.http.probes import PROBES
from tests.support.databases import new_database
from tests.support.live import connect, serving

METRICS_TOKEN = "the token of a reader of the metrics".replace(" ", "-")


@pytest.fixture(scope="session")
async def probe(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the probes beside the real routes, to a client with a key."""
    async with new_database(postgres) as url:
        settings = _settings(url, tmp_path_factory.mktemp("probe"))
        set_up_logging(settings)
        async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
            user = await people.welcome_user(work, UserWanted(email="p@probe.example", name="Probe", plan=Plan.PRO))
            key, _ = await access.create_api_key(work, user, name="probe")
        async with serving(create_app(settings, more_routes=PROBES)) as address, connect(address, timeout=20) as client:
            client.headers["Authorization"] = f"Bearer {key}"
            yield client


def _settings(url: str, data_dir: Path) -> Settings:
    return load_settings(
        {
            "database_url": url,
            "data_dir": data_dir,
            "limit_key": 1_000_000,
            "limit_failed_auth": 1_000_000,
            "log_level": "error",
            "trusted_proxies": "127.0.0.1",
            "metrics_token": METRICS_TOKEN,
        },
        environ={},
        dotenv=Path("none"),
    )
