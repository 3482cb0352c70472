"""Open a connection to PostgreSQL: to the server that a URL names, or to the first of several that answers."""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import cycle
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import asyncpg
from msgspec import Struct

from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import reason

# After these the next server is tried; others, such as a wrong password, would be the same everywhere.
NEXT = (
    OSError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    asyncpg.TargetServerAttributeNotMatched,
)
LAST_FOR = 60.0
"""How many seconds a server to which nobody could connect is tried after the others."""
SILENT_FOR_MS, ASKED_AFTER, ASKED_EVERY, ASKED_TIMES = 15_000, 10, 5, 2
"""How long a connection may acknowledge nothing before it is lost, and when, in seconds, a quiet one is probed."""


class DatabaseServer(Struct, frozen=True):
    host: str
    port: int


_last_until: dict[DatabaseServer, float] = {}


async def connect(url: str, *, within: float, **options: Any) -> asyncpg.Connection:
    """Connect within so many seconds to the first server of a URL that answers and is of the kind it asks for.

    A silent server takes its share of the time; the driver would let it take all of it.
    """
    connection = await _connect(url, within, options)
    _notice_silence(connection)
    return connection


async def _connect(url: str, within: float, options: dict[str, Any]) -> asyncpg.Connection:
    servers, until = list_servers(url), monotonic() + within
    if len(servers) < 2:
        return await asyncpg.connect(url, timeout=within, **options)
    if _read(url).get("target_session_attrs", os.environ.get("PGTARGETSESSIONATTRS")) != "prefer-standby":
        return await _connect_first(url, servers, until, options)
    with suppress(*NEXT):
        return await _connect_first(url, servers, until, {**options, "target_session_attrs": "standby"})
    return await _connect_first(url, servers, until, {**options, "target_session_attrs": "any"})


async def _connect_first(
    url: str, servers: Sequence[DatabaseServer], until: float, options: Mapping[str, Any]
) -> asyncpg.Connection:
    faults: list[Exception] = []
    servers = sorted(servers, key=lambda server: _last_until.get(server, 0) > monotonic())
    for tried, server in enumerate(servers):
        share = (until - monotonic()) / (len(servers) - tried)
        try:
            return await asyncpg.connect(url, host=server.host, port=server.port, timeout=share, **options)
        except asyncpg.TargetServerAttributeNotMatched as fault:
            faults.append(fault)
        except NEXT as fault:
            _last_until[server] = monotonic() + LAST_FOR
            # That a server is down says more than that another one is a standby.
            faults.insert(0, fault)
    raise faults[0]


def _notice_silence(connection: asyncpg.Connection) -> None:
    """Have a connection fail soon if the machine at its other end is lost; the system's own limit is 15 minutes."""
    sock = connection._transport.get_extra_info("socket")  # noqa: SLF001 - the driver has no option for it
    if sock.family == socket.AF_UNIX or not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_FOR_MS)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, ASKED_AFTER)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ASKED_EVERY)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, ASKED_TIMES)


def list_servers(url: str) -> list[DatabaseServer]:
    """List the servers that a URL or PGHOST names; none if the driver has to look elsewhere."""
    query = _read(url)
    # Like the driver, which does not take a comma apart that is written as %2C.
    if named := urlsplit(url).netloc.split("@", 1)[-1]:
        return _pair([_split(each, quoted=True) for each in named.split(",")], "")
    if "service" in query and "host" not in query:
        return []
    named = query.get("host") or os.environ.get("PGHOST", "")
    return _pair([_split(each) for each in named.split(",") if each], query.get("port", ""))


def _read(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def _split(named: str, *, quoted: bool = False) -> tuple[str, str]:
    """Take a host and its port apart, if it has one; a path of a socket has none."""
    if named.startswith("/"):
        return named, ""
    host, _, port = named[1:].partition("]") if named.startswith("[") else named.partition(":")
    return unquote(host) if quoted else host, port.removeprefix(":")


def _pair(hosts: Sequence[tuple[str, str]], ports: str) -> list[DatabaseServer]:
    """Give each host the port chosen for all or for it, its own, or that of PGPORT."""
    if len(hosts) < 2:
        return []
    usual = (ports or os.environ.get("PGPORT") or "5432").split(",")
    return [
        DatabaseServer(host, int(each if ports else own or each))
        for (host, own), each in zip(hosts, cycle(usual), strict=False)
    ]


def unreachable(url: str, fault: Exception) -> StartupError:
    """Say why a database can't be used; a pooler is known by what it refuses."""
    why = reason(fault)
    if "unsupported startup parameter" in str(fault):
        why = (
            "it is a pooler; set OPENSLOT_DATABASE_POOLER=true, and OPENSLOT_DIRECT_DATABASE_URL to the database itself"
        )
    return StartupError(f"The database can't be reached at {hide_password(url)}: {why}.")


def hide_password(url: str) -> str:
    """Write a database address without its password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, server = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    server = re.sub(r"([?&]password=)[^&]*", r"\1…", server)
    return f"{scheme}{separator}{user}{':…' if colon and credentials != user + ':' else ''}{at}{server}"
