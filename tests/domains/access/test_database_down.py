"""A database that goes away: JSON and Retry-After while it is gone, and everything as before when it is back."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.platform.core.config import Settings
from tests.domains.access.probes import PROBES, TABLE
from tests.support.live import connect, serving

ME = "/api/v1/me"
NAME = ".s.PGSQL.5432"


class Cord:
    """The line to PostgreSQL, which can be cut."""

    def __init__(self, there: str, here: str) -> None:
        self._there, self._here = there, here
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def mend(self) -> None:
        """Let connections through."""
        self._server = await asyncio.start_unix_server(self._connect, self._here)

    async def cut(self) -> None:
        """End every connection and take no new one."""
        assert self._server is not None
        self._server.close()
        # From Python 3.13 on, closing a server removes its socket.
        Path(self._here).unlink(missing_ok=True)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        far_reader, far_writer = await asyncio.open_unix_connection(self._there)
        try:
            with suppress(asyncio.CancelledError, ConnectionError):
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            for end in (writer, far_writer):
                end.transport.abort()
            self._running.discard(task)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    raise ConnectionError


@asynccontextmanager
async def corded(settings: Settings) -> AsyncIterator[tuple[Cord, Settings]]:
    """Put a cord between the service and its database."""
    assert settings.database_url is not None
    (folder,) = parse_qs(urlsplit(settings.database_url).query)["host"]
    with tempfile.TemporaryDirectory() as here:
        cord = Cord(f"{folder}/{NAME}", f"{here}/{NAME}")
        await cord.mend()
        yield cord, msgspec.structs.replace(settings, database_url=settings.database_url.replace(folder, here))
        await cord.cut()


@pytest.mark.rest("waits for seconds")
async def test_while_the_database_is_gone_every_door_says_so_and_then_recovers(
    settings: Settings, bearer: dict[str, str]
) -> None:
    async with (
        corded(settings) as (cord, cut_off),
        serving(create_app(cut_off)) as url,
        connect(url) as client,
    ):
        before = await client.get(ME, headers=bearer)
        await cord.cut()
        gone = [
            await client.get(ME, headers=bearer),
            await client.post(ME, json={}, headers=bearer),
            await client.get(ME),
        ]
        measured = await client.get("/metrics")
        not_ready = await client.get("/readyz")
        alive = await client.get("/healthz")
        await cord.mend()
        after = [await client.get(ME, headers=bearer) for _ in range(3)]
        measured_again = await client.get("/metrics")

    assert measured.status_code == 200
    assert "openslot_database_up 0.0" in measured.text
    assert "openslot_request_seconds_count{" in measured.text
    assert "openslot_disk_full 0.0" in measured.text
    assert "openslot_workers" not in measured.text
    assert "openslot_database_up 1.0" in measured_again.text
    assert "openslot_workers 0.0" in measured_again.text
    assert before.status_code == alive.status_code == 200
    for answer in (*gone, not_ready):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "2"
    assert not_ready.json()["database"] == "can't be used right now"
    for answer in gone:
        assert answer.json() == {"error": "The service is not available right now"}
    assert [answer.status_code for answer in after] == [200] * 3


@pytest.mark.rest("starts processes or databases of its own")
@pytest.mark.own_database
async def test_connections_killed_under_load_give_an_answer_or_503(
    settings: Settings, bearer: dict[str, str], database_url: str
) -> None:
    roomy = msgspec.structs.replace(settings, limit_key=1_000_000)
    operator = await asyncpg.connect(database_url)
    await operator.execute(TABLE)
    statuses: Counter[int] = Counter()

    async def hammer(client: httpx2.AsyncClient) -> None:
        for n in range(30):
            write = {"method": "POST", "url": "/api/v1/probe/rows", "json": {"note": "x"}}
            answer = await client.request(**(write if n % 2 else {"method": "GET", "url": ME}), headers=bearer)
            statuses[answer.status_code] += 1
            assert answer.headers["content-type"] == "application/json"
            assert answer.status_code != 503 or answer.headers["retry-after"]

    async def kill() -> None:
        while True:
            await operator.execute(
                """select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid()"""
            )
            await asyncio.sleep(0.05)

    app = create_app(roomy, more_routes=PROBES)
    async with serving(app) as url, connect(url, timeout=30) as client:
        killing = asyncio.create_task(kill())
        await asyncio.gather(*(hammer(client) for _ in range(6)))
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        after = [(await client.get(ME, headers=bearer)).status_code for _ in range(12)]
        written = await operator.fetchval("select count(*) from probe_rows")
        await operator.close()

    assert statuses.keys() <= {200, 201, 503}
    assert statuses[201] <= written <= statuses[201] + statuses[503]
    assert after[-1] == 200


@pytest.mark.own_database
async def test_a_standby_is_no_database_and_the_service_recovers_when_it_is_promoted(
    settings: Settings, bearer: dict[str, str]
) -> None:
    assert settings.database_url is not None
    name = urlsplit(settings.database_url).path.removeprefix("/")
    turn = f'begin read write; alter database "{name}" set default_transaction_read_only = {{}}; commit'
    others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()"
    operator = await asyncpg.connect(settings.database_url)
    async with serving(create_app(settings)) as url, connect(url) as client:
        await operator.execute(turn.format("on"))
        await operator.fetch(others, name)
        away = await client.get(ME, headers=bearer)
        await operator.execute(turn.format("off"))
        back = await client.get(ME, headers=bearer)
    await operator.close()

    assert (away.status_code, away.headers["x-error-code"], back.status_code) == (503, "service_unavailable", 200)
    assert "retry-after" in away.headers
