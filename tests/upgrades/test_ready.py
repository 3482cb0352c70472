"""A process is ready when the database has every migration that it knows, whatever else a newer one has brought."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.core.migrate import known_migrations
from openslot.platform.core.work import Runtime
from openslot.wiring import WIRING
from tests.support.live import connect, serving

KNOWN = known_migrations()
NEWEST = list(KNOWN)[-1]


async def ask(settings: Settings, migrations: Mapping[str, str]) -> tuple[int, str]:
    """Ask a process that knows these migrations whether it is ready."""
    app = create_app(settings, wiring=replace(WIRING, migrations=migrations))
    async with serving(app) as url, connect(url) as client:
        answer = await client.get("/readyz")
        return answer.status_code, answer.json()["migrations"]


@pytest.fixture(autouse=True)
async def worker(runtime: Runtime) -> None:
    """A worker that was heard of a moment ago."""
    beat = "insert into worker_beats values (gen_random_uuid(), 'here', 1, $1, $1)"
    await runtime.pool.execute(beat, runtime.clock())


async def test_a_process_that_knows_a_migration_less_is_ready(settings: Settings) -> None:
    assert await ask(settings, {name: sql for name, sql in KNOWN.items() if name != NEWEST}) == (200, "ok")


async def test_a_process_that_knows_a_migration_more_is_not_ready_before_it_is_applied(settings: Settings) -> None:
    assert await ask(settings, {**KNOWN, "9999_future.sql": "select 1"}) == (503, "1 missing")


async def test_a_process_that_knows_another_migration_of_the_same_name_is_not_ready(settings: Settings) -> None:
    status, said = await ask(settings, {**KNOWN, NEWEST: "select 1"})

    assert status == 503
    assert said == f"The migration {NEWEST} was changed after it had been applied. Restore the original file."
