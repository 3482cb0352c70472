"""A process that hangs is noticed and replaced; one that takes long to start is left alone."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import structlog

from openslot.platform.core.config import Settings
from openslot.platform.core.log import set_up_logging
from openslot.processes import inheritance
from openslot.processes.children import LOOK_EVERY, Child
from openslot.processes.inheritance import beating
from tests.cli.conftest import empty, furnished, home, home_dir, seeded  # noqa: F401 - fixtures
from tests.hostile.support import child_of, children_of
from tests.support.forked import Forked
from tests.support.installation import Command, Installation, ended
from tests.support.wait import wait_until

pytestmark = pytest.mark.rest("starts and stops services: one test in make test does")


def kind_of(serve: Command, kind: str) -> tuple[int, ...]:
    """Tell the pids of the children of this kind."""
    return tuple(child.pid for child in children_of(serve, kind))


def test_a_process_that_hangs_is_replaced(home: Installation, seeded: dict[str, Any]) -> None:  # noqa: F811
    # Longer than the moments in which a loaded machine runs none of them.
    home.environment["OPENSLOT_HANG_TIMEOUT"] = "5"
    serve = home.start("serve")
    home.wait_until_ready()
    with httpx2.Client(base_url=home.base_url, timeout=60) as client:
        for number, (kind, other_kind) in enumerate([("web", "worker"), ("worker", "web")], 1):
            hanging, other = child_of(serve, kind), child_of(serve, other_kind)
            hanging.send_signal(signal.SIGSTOP)
            answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {seeded['apiKey']}"})
            wait_until_replaced(serve, hanging, kind)
            home.wait_until_ready()

            assert answer.status_code == 200, kind
            assert hanging.pid not in kind_of(serve, kind), kind
            assert other.is_running(), kind
            assert other.pid == child_of(serve, other_kind).pid, kind
            told = [line for line in serve.err_so_far().splitlines() if "a process hangs and is replaced" in line]
            assert len(told) == number
            assert f'"kind": "{kind}"' in told[-1]
    serve.terminate()
    assert ended(serve)[0] == 0


def wait_until_replaced(serve: Command, process: psutil.Process, kind: str) -> None:
    wait_until(lambda: kind_of(serve, kind) not in {(), (process.pid,)})


def look_at_a_child_that_starts() -> None:
    """Say whether a child was ended; nobody tells it the database's address, so it waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = Child("web", listener=listener, hang_timeout=LOOK_EVERY)
        for _ in range(30):
            child.end_if_hanging()
            time.sleep(0.05)
        print("is running" if child.is_running else "was ended")  # noqa: T201 - the test reads it
        child.terminate()
        child.end(time.monotonic() + 10)


def test_a_start_that_takes_long_is_not_a_hang(tmp_path: Path) -> None:
    environment = {**os.environ, "OPENSLOT_DATA_DIR": str(tmp_path)}
    supervisor = Forked(look_at_a_child_that_starts, environment=environment, out=tmp_path / "out")

    assert supervisor.wait(60) == 0
    assert (tmp_path / "out").read_text() == "is running\n"


async def test_a_blocked_event_loop_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    monkeypatch.setenv(inheritance.HEARTBEAT, str(writing))
    monkeypatch.setattr(inheritance, "BEAT_EVERY", 0.01)
    async with beating():
        beats = 0
        async with asyncio.timeout(60):
            while beats < 2:
                await asyncio.sleep(0.05)
                beats += len(os.read(reading, 4096))
        time.sleep(0.2)  # noqa: ASYNC251 - this is what a hanging process does
        with pytest.raises(BlockingIOError):
            os.read(reading, 4096)
    os.close(reading)
    os.close(writing)


def write_a_log() -> None:
    """Write a line to the log, and go on."""
    set_up_logging(Settings())
    structlog.get_logger().error("lost")
    print("went on")  # noqa: T201 - the test reads it


def test_a_log_on_a_full_disk_fails_nobody(tmp_path: Path) -> None:
    Forked(write_a_log, out=tmp_path / "out", err=Path("/dev/full")).wait(60)

    assert (tmp_path / "out").read_text() == "went on\n"
