"""A web process to be attacked, and what can be seen of it from outside."""

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from msgspec import Struct

from tests.hostile.wire import Answer, Wire
from tests.support.forked import Forked, openslot
from tests.support.ports import held_port

READY_WITHIN = 60.0
SETTLES_WITHIN = 60.0
FEW_DESCRIPTORS = 256
HEAD_TIMEOUT = 2
# What is tried there fails so often that the log names the address.
KEPT_OUT = "too many failed authentications"
BODY_TIMEOUT = 2
CONNECTIONS = 8
PROXY = "127.200.0.1"
"""The one address whose `X-Forwarded-For` is believed."""


class Server(Struct, frozen=True, kw_only=True):
    """One web process."""

    pid: int
    port: int
    database_url: str
    key: str

    def connect(self, source: str) -> Wire:
        """Open a connection that comes from an address of this machine's own choice."""
        return Wire(socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(source, 0)))

    def send(self, data: bytes, source: str) -> Answer:
        """Send these bytes on a connection of their own, and read until the server ends it."""
        with self.connect(source) as wire:
            wire.send(data)
            return wire.read_to_the_end()

    def is_well(self) -> bool:
        """Ask as an ordinary client does, on a new connection."""
        head = f"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\nConnection: close\r\n\r\n"
        return self.send(head.encode(), "127.0.0.1").status == 200

    def memory(self) -> int:
        """Tell how many bytes of memory it has."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def connections(self, source: str) -> int:
        """Count its connections with one address."""
        there = psutil.Process(self.pid).net_connections("tcp")
        return [one.raddr.ip for one in there if one.status != psutil.CONN_LISTEN].count(source)

    def wait_until_rid_of(self, source: str) -> None:
        """Wait until it has ended every connection with this address by itself."""
        deadline = time.monotonic() + SETTLES_WITHIN
        while self.connections(source):
            assert time.monotonic() < deadline, f"{self.connections(source)} connections are still open"
            time.sleep(0.05)


@contextmanager
def web_process(database_url: str, key: str, directory: Path) -> Iterator[Server]:
    """Run `openslot web` with small limits, few descriptors to begin with, and a log that is read in the end."""
    with held_port() as port:
        yield from _web_process_at(port, database_url, key, directory)


def _web_process_at(port: int, database_url: str, key: str, directory: Path) -> Iterator[Server]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENSLOT_", "PG"))}
    chosen = {
        "DATABASE_URL": database_url,
        "OPENSLOT_DATA_DIR": str(directory),
        "OPENSLOT_PORT": str(port),
        "OPENSLOT_LOG_LEVEL": "warning",
        "OPENSLOT_LIMIT_KEY": "1000000",
        "OPENSLOT_TRUSTED_PROXIES": PROXY,
        "OPENSLOT_HEAD_TIMEOUT": str(HEAD_TIMEOUT),
        "OPENSLOT_BODY_TIMEOUT": str(BODY_TIMEOUT),
        "OPENSLOT_LIMIT_CONNECTIONS": str(CONNECTIONS),
    }
    log = directory / "log"
    process = Forked(_web_with_few_descriptors, environment={**kept, **chosen}, err=log)
    try:
        _wait_for(port, process, log)
        yield Server(pid=process.pid, port=port, database_url=database_url, key=key)
    finally:
        process.terminate()
        process.wait(READY_WITHIN)
    assert [line for line in log.read_text().splitlines() if KEPT_OUT not in line] == []


def _web_with_few_descriptors() -> None:
    _, max_ = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_DESCRIPTORS, max_))
    openslot("web")


def _wait_for(port: int, process: Forked, log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as asking:
            asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            if asking.recv(12) == b"HTTP/1.1 200":
                return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")
