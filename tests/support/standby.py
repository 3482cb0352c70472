"""A server with a streaming standby, as PostgreSQL's own tools make one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.embedded.cluster import unprivileged

FAST = {"fsync": "off", "max_connections": "60", "wal_level": "replica", "hot_standby": "on"}


@contextmanager
def with_standby(place: Path) -> Iterator[tuple[str, str]]:
    """Run both servers and return their addresses."""
    primary, standby = place / "primary", place / "standby"
    url = start_server(primary, options=FAST).url
    try:
        _copy(url, standby)
        try:
            yield url, start_server(standby, options=FAST).url
        finally:
            stop_server(standby)
    finally:
        stop_server(primary)


def _copy(url: str, to: Path) -> None:
    copied = to / "postgres"
    copied.mkdir(parents=True, mode=0o700)
    socket = parse_qs(urlsplit(url).query)["host"][0]
    command = ["pg_basebackup", "-h", socket, "-U", "postgres", "-D", str(copied), "-R", "-X", "stream", "-c", "fast"]
    full, extra = unprivileged(copied, command)
    subprocess.run(full, check=True, capture_output=True, **extra)
    # The socket of the first server lies among its files.
    for left in copied.glob(".s.PGSQL.*"):
        left.unlink()
