"""Two web processes on one database, and clients that all want the same."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from openslot.core.config import Settings

FREE = 1_000_000

# A pair of live claims of one host that share time: what must never be.
OVERLAPS = """
select count(*) from claims a join claims b
on a.host_no = b.host_no and a.id < b.id and a.during && b.during where a.active and b.active"""
# A confirmed booking outside its own claim, or without an active one.
ASTRAY = """
select count(*) from bookings b left join claims c on c.id = b.claim_id
where b.status = 'CONFIRMED'
  and (c.id is null or not c.active or c.starts_at <> b.starts_at or c.ends_at <> b.ends_at)"""


@contextmanager
def web_processes(
    settings: Settings, count: int = 2, *, limit_key: int = FREE, limit_failed_auth: int = FREE
) -> Iterator[list[str]]:
    """Run web processes as an operator would, and tell their addresses."""
    limits = {"OPENSLOT_LIMIT_KEY": str(limit_key), "OPENSLOT_LIMIT_FAILED_AUTH": str(limit_failed_auth)}
    with ExitStack() as stack:
        yield [stack.enter_context(_web(settings, limits)) for _ in range(count)]


@contextmanager
def _web(settings: Settings, limits: dict[str, str]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url or "",
        "OPENSLOT_DATA_DIR": str(settings.data_dir),
        "OPENSLOT_PORT": str(port),
        "OPENSLOT_LIMIT_PUBLIC": str(FREE),
        **limits,
        "OPENSLOT_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "openslot", "web"]
    process = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[1])
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the web process does not listen")
