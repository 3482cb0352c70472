"""A worker whose connections are all in use waits: no try is lost and none is counted as failed."""

import asyncio
import os

import asyncpg
import pytest

from openslot.domains.accounts.events import UserPasswordChanged
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.forked import Forked, openslot

BLOCKED = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
UNDONE = "select count(*) from effects where state <> 'done'"


def start_worker(settings: Settings) -> Forked:
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_DATABASE_CONNECTIONS": "2",
        "OPENSLOT_DATABASE_WAIT_SECONDS": "1",
        "OPENSLOT_LOG_LEVEL": "error",
    }
    return Forked(openslot, "worker", environment=environment)


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_a_worker_waits_longer_for_a_connection_than_a_request(
    settings: Settings, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        for _ in range(10):
            await work.record(UserPasswordChanged(user_id=user.id, email=user.email, by_link=False))
    waiting = await runtime.pool.fetchval(UNDONE)
    operator = await asyncpg.connect(settings.database_url)
    held = operator.transaction()
    await held.start()
    await operator.execute("lock table effects in access exclusive mode")
    worker = start_worker(settings)
    try:
        async with asyncio.timeout(60):
            while await runtime.pool.fetchval(BLOCKED) < 2:
                await asyncio.sleep(0.05)
        await asyncio.sleep(2)
        await held.rollback()
        # Sooner than the sweep that would take up what was dropped.
        async with asyncio.timeout(30):
            while await runtime.pool.fetchval(UNDONE):
                await asyncio.sleep(0.05)
    finally:
        worker.terminate()
        worker.wait(60)
        await operator.close()
    assert waiting >= 10
    assert await runtime.pool.fetchval("select max(attempts) from effects") == 1
