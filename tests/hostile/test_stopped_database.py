"""A database server that does nothing any more: everyone is answered in time, and all is well when it goes on."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx2
import psutil
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.accounts.models import UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.doors.http.health import ANSWER_WITHIN
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.work import Work
from openslot.platform.routing import post
from openslot.runtime import open_runtime
from tests.support.databases import TEMPLATE, UNSAFE_AND_FAST, copy_data_dir, database_at
from tests.support.live import connect, serving

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")

UNAVAILABLE = {"error": "The service is not available right now"}


@pytest.fixture
def own_database(prepared_data_dir: Path, tmp_path: Path) -> Iterator[Settings]:
    """Lend a server that no other test uses, so that it can be stopped."""
    copy_data_dir(prepared_data_dir, tmp_path / "own")
    url = database_at(start_server(tmp_path / "own", options=UNSAFE_AND_FAST).url, TEMPLATE)
    yield load_settings({"database_url": url, "data_dir": tmp_path / "own", "log_level": "error"}, environ={})
    stop_server(tmp_path / "own")


@contextmanager
def stopped(data_dir: Path) -> Iterator[None]:
    """Stop every process of a server with a signal that none of them sees."""
    server = psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0]))
    # First of all, so that it starts no other.
    server.suspend()
    processes = [server, *server.children()]
    for process in processes:
        _send(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            _send(process, signal.SIGCONT)


def _send(process: psutil.Process, number: signal.Signals) -> None:
    # One whose client has just left may have ended.
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


async def make_key(settings: Settings) -> dict[str, str]:
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email="h@host.example", name="Host", plan=Plan.PRO))
        key, _ = await access.create_api_key(work, user, name="stopped")
        return {"Authorization": f"Bearer {key}"}


@asynccontextmanager
async def serve(settings: Settings, **more: object) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        serving(create_app(settings, **more)) as url,  # type: ignore[arg-type]
        # Shorter than the time that the patient wait for a connection.
        connect(url, timeout=60) as client,
    ):
        yield client


def test_ready_is_answered_before_a_balancer_gives_up() -> None:
    assert ANSWER_WITHIN < 2


async def test_a_stopped_server_is_503_and_goes_on_as_before(own_database: Settings) -> None:
    bearer = await make_key(own_database)
    hasty = replace(own_database, database_connections=3, database_wait_seconds=1, database_statement_seconds=1)
    async with serve(hasty) as client:
        assert (await client.get("/api/v1/me", headers=bearer)).status_code == 200
        with stopped(own_database.data_dir):
            asked = [asyncio.create_task(client.get("/api/v1/me", headers=bearer)) for _ in range(10)]
            asked.append(asyncio.create_task(client.post("/api/v1/contacts", json={"name": "X"}, headers=bearer)))
            ready: list[httpx2.Response] = []
            while not all(task.done() for task in asked) or len(ready) < 3:
                ready.append(await client.get("/readyz"))
            alive = await client.get("/healthz")
        refused = [task.result() for task in asked]
        async with asyncio.timeout(30):
            while (after := await client.get("/api/v1/me", headers=bearer)).status_code != 200:
                await asyncio.sleep(0.1)

    assert alive.status_code == 200
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in [*refused, *ready]} == {(503, "2")}
    assert {answer.json()["database"] for answer in ready} == {"does not answer in time"}
    assert [answer.json() for answer in refused] == [UNAVAILABLE] * len(refused)
    assert after.status_code == 200


async def test_a_server_that_stops_in_the_middle_of_a_transaction_keeps_nobody_waiting(own_database: Settings) -> None:
    bearer = await make_key(own_database)
    reached, go_on = asyncio.Event(), asyncio.Event()

    @post("/api/v1/probe/pause")
    async def pause(work: Work) -> dict[str, int]:
        """Pause between two statements."""
        reached.set()
        await go_on.wait()
        return {"one": await work.db.fetchval("select 1")}

    hasty = replace(own_database, database_statement_seconds=6, database_wait_seconds=1)
    async with serve(hasty, more_routes=[pause]) as client:
        # Shorter than two time-outs: a rollback would wait for a second one.
        asked = asyncio.create_task(client.post("/api/v1/probe/pause", json={}, headers=bearer, timeout=13))
        await reached.wait()
        with stopped(own_database.data_dir):
            go_on.set()
            refused = await asked
            ready = await client.get("/readyz")

    assert (refused.status_code, refused.json()) == (503, UNAVAILABLE)
    assert ready.status_code == 503


async def test_with_every_connection_in_use_ready_is_answered_in_time(own_database: Settings) -> None:
    bearer = await make_key(own_database)
    held, let_go = asyncio.Semaphore(0), asyncio.Event()

    @post("/api/v1/probe/hold")
    async def hold() -> dict[str, bool]:
        """Keep a connection."""
        held.release()
        await let_go.wait()
        return {"held": True}

    patient = replace(own_database, database_connections=2, database_wait_seconds=300)
    async with serve(patient, more_routes=[hold]) as client:
        asked = [asyncio.create_task(client.post("/api/v1/probe/hold", json={}, headers=bearer)) for _ in range(2)]
        for _ in asked:
            await held.acquire()
        ready = await client.get("/readyz")
        let_go.set()
        await asyncio.gather(*asked)

    assert (ready.status_code, ready.headers["retry-after"]) == (503, "2")
    assert ready.json() == {
        "status": "not ready",
        "database": "does not answer in time",
        "migrations": "unknown",
        "worker": "unknown",
        "disk": "ok",
    }
