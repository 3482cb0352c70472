"""A process that hangs is noticed and replaced; one that takes long to start is left alone."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from openslot.cli import heartbeat
from openslot.cli.heartbeat import beating
from tests.cli.conftest import empty, furnished, home, seeded  # noqa: F401 - fixtures
from tests.cli.installation import Command, Installation, ended


def children_of(serve: Command, kind: str) -> list[psutil.Process]:
    """Find the children of this kind that live."""
    found = []
    for child in psutil.Process(serve.pid).children():
        with suppress(psutil.Error):
            if child.name() == f"openslot-{kind}" and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def child_of(serve: Command, kind: str) -> psutil.Process:
    """Find the one child of this kind."""
    (found,) = children_of(serve, kind)
    return found


def test_a_process_that_hangs_is_replaced(home: Installation, seeded: dict[str, Any]) -> None:  # noqa: F811
    home.environment["OPENSLOT_HANG_TIMEOUT"] = "2"
    serve = home.start("serve")
    home.wait_until_ready()
    with httpx2.Client(base_url=home.base_url, timeout=60) as client:
        for number, (kind, other_kind) in enumerate([("web", "worker"), ("worker", "web")], 1):
            hanging, other = child_of(serve, kind), child_of(serve, other_kind)
            hanging.send_signal(signal.SIGSTOP)
            answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {seeded['apiKey']}"})
            wait_until_ended(hanging)
            home.wait_until_ready()

            assert answer.status_code == 200, kind
            assert child_of(serve, kind).pid != hanging.pid, kind
            assert other.is_running(), kind
            assert other.pid == child_of(serve, other_kind).pid, kind
            told = [line for line in serve.err_so_far().splitlines() if "a process hangs and is replaced" in line]
            assert len(told) == number
            assert f'"kind": "{kind}"' in told[-1]
    serve.terminate()
    assert ended(serve)[0] == 0


def wait_until_ended(process: psutil.Process) -> None:
    deadline = time.monotonic() + 60
    while process.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_start_that_takes_long_is_not_a_hang(tmp_path: Path) -> None:
    # Nobody tells the child the database's address, so it waits for it.
    script = """
import socket, time
from openslot.cli.children import LOOK_EVERY, Child
with socket.create_server(("127.0.0.1", 0)) as listener:
    child = Child("web", listener=listener, hang_timeout=LOOK_EVERY)
    for _ in range(30):
        child.end_if_hanging()
        time.sleep(0.05)
    print("is running" if child.is_running else "was ended")
    child.terminate()
    child.end(time.monotonic() + 10)
"""
    environment = {**os.environ, "OPENSLOT_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"is running\n"


async def test_a_blocked_event_loop_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    monkeypatch.setenv(heartbeat.VARIABLE, str(writing))
    monkeypatch.setattr(heartbeat, "BEAT_EVERY", 0.01)
    async with beating():
        await asyncio.sleep(0.2)
        beats = len(os.read(reading, 4096))
        time.sleep(0.2)  # noqa: ASYNC251 - this is what a hanging process does
        with pytest.raises(BlockingIOError):
            os.read(reading, 4096)
    os.close(reading)
    os.close(writing)

    assert beats > 1


def test_a_log_on_a_full_disk_fails_nobody() -> None:
    script = """
import structlog
from openslot.core.config import Settings
from openslot.core.log import set_up_logging
set_up_logging(Settings())
structlog.get_logger().error("lost")
print("went on")
"""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", script], stderr=full, stdout=subprocess.PIPE, check=False)

    assert done.stdout == b"went on\n"
