"""A disk without room, and a database that can't start: 503 while it lasts, and back without anyone's help."""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from openslot.platform.core.embedded import find_server
from tests.cli.conftest import empty, furnished, home, home_dir, seeded  # noqa: F401 - fixtures
from tests.hostile.support import child_of, children_of
from tests.support.installation import Command, Installation, ended, installed

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")

UNAVAILABLE = {"error": "The service is not available right now"}
DOWN_WITHIN = 60.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Lend a disk with little room."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256m", "openslot", str(place)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"this machine lets nobody mount a small disk: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def cramped(furnished: tuple[Path, dict[str, Any]], small_disk: Path) -> Iterator[Installation]:  # noqa: F811
    """Lend an installation that somebody lives in, on a small disk."""
    shutil.copytree(furnished[0], small_disk / "data", symlinks=True)
    with installed(small_disk / "data", OPENSLOT_LIMIT_KEY="1000000") as installation:
        yield installation


def fill(place: Path) -> Path:
    """Leave no room at all."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for piece in (1024 * 1024, 4096):
            with suppress(OSError):
                while True:
                    file.write(bytes(piece))
    return ballast


async def use_up_the_log(url: str) -> None:
    """Ask for new files of the write-ahead log until there is no room for one."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection = await asyncpg.connect(url)
        while True:
            await connection.execute("select pg_logical_emit_message(false, 'test', repeat('x', 100000))")
            await connection.execute("select pg_switch_wal()")


def bring_down(serve: Command, url: str) -> None:
    """Use up the log until the server has ended: a full disk may also refuse the one that asks."""
    deadline = time.monotonic() + DOWN_WITHIN
    while "the embedded database is down" not in serve.err_so_far():
        assert time.monotonic() < deadline, serve.said()
        asyncio.run(use_up_the_log(url))
        time.sleep(0.1)


def wait_until_told(serve: Command, words: str, times: int = 1) -> None:
    """Wait until the log says it, so many times."""
    deadline = time.monotonic() + DOWN_WITHIN
    while serve.err_so_far().count(words) < times:
        assert serve.poll() is None, serve.said()
        assert time.monotonic() < deadline, serve.said()
        time.sleep(0.1)


def add_contact(client: httpx2.Client, number: int) -> httpx2.Response:
    return client.post(
        "/api/v1/contacts", json={"name": "Gus", "email": f"gus{number}@guest.example", "notes": "n" * 4000}
    )


def test_a_full_disk_is_survived(cramped: Installation, seeded: dict[str, Any]) -> None:  # noqa: F811
    serve = cramped.start("serve")
    cramped.wait_until_ready()
    url = find_server(cramped.data_dir)
    assert url is not None
    with httpx2.Client(
        base_url=cramped.base_url, timeout=60, headers={"Authorization": f"Bearer {seeded['apiKey']}"}
    ) as client:
        kept = [add_contact(client, number) for number in range(5)]
        ballast = fill(cramped.data_dir.parent)
        full = client.get("/readyz")
        while_full = [add_contact(client, number) for number in range(5, 60)]
        bring_down(serve, url)
        gone = [add_contact(client, 60), client.get("/api/v1/me")]
        ready = client.get("/readyz")
        code, told, _ = cramped.run("doctor", "--json")
        was_running = serve.poll() is None
        ballast.unlink()
        wait_until_told(serve, "the embedded database is up again")
        while client.get("/readyz").status_code != 200:
            time.sleep(0.1)
        acknowledged = [answer.json()["id"] for answer in [*kept, *while_full] if answer.status_code < 300]
        found = [client.get(f"/api/v1/contacts/{contact_id}").status_code for contact_id in acknowledged]
        again = add_contact(client, 61)
        found_disk = client.get("/readyz").json()["disk"]
    serve.terminate()
    ending, _, err = ended(serve)

    assert {answer.status_code for answer in kept} == {201}
    assert (full.status_code, full.json()["disk"]) == (200, "full: 0 MB left")
    assert found_disk == "ok"
    assert {answer.status_code for answer in while_full} <= {201, 503}
    assert {answer.status_code for answer in [*gone, ready]} == {503}
    assert {answer.headers["retry-after"] for answer in [*gone, ready]} == {"2"}
    assert gone[0].json() == gone[1].json() == UNAVAILABLE
    assert code == 1
    assert "No space left on device" in told
    assert "keeps trying to start it" in told
    assert was_running
    assert set(found) == {200}
    assert again.status_code == 201
    assert (ending, "the embedded database is up again" in err) == (0, True)


def test_a_database_that_does_not_start_for_a_while_ends_nothing(
    home: Installation,  # noqa: F811
    seeded: dict[str, Any],  # noqa: F811
) -> None:
    serve = home.start("serve")
    home.wait_until_ready()
    configuration = home.data_dir / "postgres" / "postgresql.conf"
    words = configuration.read_text()
    configuration.write_text("max_connections = many\n")
    os.kill(home.postmaster(), signal.SIGKILL)
    wait_until_told(serve, "the embedded database is down")
    refused = httpx2.get(f"{home.base_url}/readyz", timeout=60)
    # Whatever dies meanwhile can't start without the database, and is not given up for it.
    child_of(serve, "web").kill()
    child_of(serve, "worker").kill()
    wait_until_told(serve, "the embedded database is down", times=3)
    was_running = serve.poll() is None
    started = [*children_of(serve, "web"), *children_of(serve, "worker")]
    configuration.write_text(words)
    home.wait_until_ready(within=120)
    answer = httpx2.get(
        f"{home.base_url}/api/v1/me", headers={"Authorization": f"Bearer {seeded['apiKey']}"}, timeout=60
    )
    serve.terminate()
    code, _, err = ended(serve)

    assert refused.status_code == 503
    assert was_running
    assert started == []
    assert answer.status_code == 200
    assert code == 0
    assert "the embedded database is up again" in err
