"""The stage: one database server, the ceiling and the service beside each other on it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from openslot.platform.core.embedded import start_server, stop_server

METRICS_TOKEN = "m" * 32


class Stage(Struct, frozen=True, kw_only=True):
    """Where everything is."""

    url: str
    data_dir: Path


class Server(Struct, frozen=True, kw_only=True):
    """A process that answers requests."""

    port: int
    pid: int


@contextmanager
def stage() -> Iterator[Stage]:
    """Set an embedded database up in a directory of its own, as durable as in production."""
    with TemporaryDirectory(prefix="openslot-bench-") as directory:
        data_dir = Path(directory)
        try:
            yield Stage(url=start_server(data_dir).url, data_dir=data_dir)
        finally:
            stop_server(data_dir)


@contextmanager
def running(command: list[str], port: int | None, stage: Stage) -> Iterator[int]:
    """Run a process until the block ends; one that listens is waited for."""
    environment = {
        **os.environ,
        "DATABASE_URL": stage.url,
        "OPENSLOT_DATA_DIR": str(stage.data_dir),
        "OPENSLOT_PORT": str(port or 0),
        "OPENSLOT_LIMIT_KEY": "1000000",
        "OPENSLOT_LIMIT_SCIM": "1000000",
        "OPENSLOT_LIMIT_AGENT": "1000000",
        "OPENSLOT_LOG_LEVEL": "error",
        "OPENSLOT_TRUSTED_PROXIES": "127.0.0.1",
        "OPENSLOT_METRICS_TOKEN": METRICS_TOKEN,
    }
    process = subprocess.Popen([sys.executable, "-m", *command], env=environment)
    try:
        if port is not None:
            _wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def ceiling(stage: Stage) -> Iterator[Server]:
    """Serve the ceiling on a free port."""
    with bare("benchmarks.ceiling:app", stage) as server:
        yield server


@contextmanager
def bare(app: str, stage: Stage) -> Iterator[Server]:
    """Serve an ASGI app on uvicorn, on a free port."""
    port = free_port()
    command = ["uvicorn", app, "--port", str(port), "--log-level", "error", "--no-access-log", "--lifespan", "on"]
    with running([*command, "--loop", "uvloop", "--http", "httptools"], port, stage) as pid:
        yield Server(port=port, pid=pid)


@contextmanager
def service(stage: Stage) -> Iterator[Server]:
    """Serve Openslot's web, one process, on a free port."""
    port = free_port()
    with running(["openslot", "web"], port, stage) as pid:
        yield Server(port=port, pid=pid)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit("a server of the benchmark did not start")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("a server of the benchmark does not answer")
