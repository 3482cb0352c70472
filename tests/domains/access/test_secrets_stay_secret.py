"""What was issued is found nowhere again: not in the database, not in the logs, not in an answer."""

import asyncio
import os
from pathlib import Path

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.forked import Forked, openslot
from tests.support.issued import issue, misuse
from tests.support.live import connect
from tests.support.ports import held_port


async def dump(runtime: Runtime) -> str:
    """Write every row of every table as text."""
    tables = await runtime.pool.fetch("select format('%I.%I', schemaname, tablename) as name from pg_tables "
                                    "where schemaname not in ('pg_catalog', 'information_schema')")  # fmt: skip
    rows = [await runtime.pool.fetch(f"select t::text as row from {table['name']} t") for table in tables]
    return "\n".join(row["row"] for each in rows for row in each)


async def test_the_database_holds_no_secret_in_the_clear(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    issued = await issue(runtime, user)
    await client.get("/api/v1/me", headers={"Authorization": f"Bearer {issued['api key']}"})
    await client.get("/account", headers={"Cookie": f"openslot_session={issued['session']}"})
    written = await dump(runtime)

    assert user.email in written
    for kind, secret in issued.items():
        assert secret not in written, kind
        assert secret.encode().hex() not in written, kind


@pytest.mark.rest("starts and stops services: one test in make test does")
async def test_the_most_talkative_logs_hold_no_secret(runtime: Runtime, user: User, tmp_path: Path) -> None:
    issued = await issue(runtime, user)
    environment = {
        **os.environ,
        "DATABASE_URL": runtime.settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(tmp_path),
        "OPENSLOT_LOG_LEVEL": "debug",
    }
    out, err = tmp_path / "out", tmp_path / "err"
    with held_port() as port:
        server = Forked(openslot, "web", "--port", str(port), environment=environment, out=out, err=err)
        async with connect(f"http://127.0.0.1:{port}") as client:
            await wait_until_there(client)
            answers = await misuse(client, issued)
        server.terminate()
        assert await asyncio.to_thread(server.wait, 60) == 0
    logs = out.read_text() + err.read_text()

    assert '"route": "/api/v1/me"' in logs
    for kind, secret in issued.items():
        assert secret not in logs, kind
        assert not [answer for answer in answers if secret in answer.text + str(answer.headers)], kind


async def wait_until_there(client: httpx2.AsyncClient) -> None:
    for _ in range(1200):
        try:
            await client.get("/healthz")
            break
        except httpx2.ConnectError:
            await asyncio.sleep(0.05)
