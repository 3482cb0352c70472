"""PostgreSQL's own programs: which of them fit a server, and how they get its address."""

import os
import re
import shutil
import subprocess
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import asyncpg
from msgspec import Struct

from openslot.platform.backups.store import is_encrypted
from openslot.platform.core.embedded import postgres_program
from openslot.platform.core.errors import StartupError


class ServerKind(Struct, frozen=True):
    major: int
    encrypted: bool


class ProgramAddress(Struct, frozen=True):
    """A database's address for a program's arguments, and the password, which must not appear there."""

    url: str
    environment: dict[str, str]


async def server_kind(connection: asyncpg.Connection) -> ServerKind:
    """Return which programs fit the server of this connection."""
    return ServerKind(connection.get_server_version().major, await is_encrypted(connection))


def get_program(name: str, kind: ServerKind) -> str:
    """Find a program that fits the server: the one bundled with Openslot, or an installed one."""
    brought, installed = postgres_program(name), shutil.which(name)
    if not kind.encrypted and kind.major <= major_of(brought):
        return brought
    if installed is not None and kind.major <= major_of(installed):
        return installed
    if kind.encrypted:
        raise StartupError(
            f"The connection to the database is encrypted, which the {name} that came with Openslot does not support: "
            f"install PostgreSQL's own client programs, version {kind.major} or newer, and try again."
        )
    raise StartupError(
        f"The database is PostgreSQL {kind.major}, newer than the {name} {major_of(brought)} that came with Openslot: "
        f"install PostgreSQL's own client programs, version {kind.major} or newer, and try again."
    )


def get_newest(name: str) -> str:
    """Find the newest program, which reads the most formats, for work that needs no server."""
    brought, installed = postgres_program(name), shutil.which(name)
    return brought if installed is None or major_of(brought) >= major_of(installed) else installed


def major_of(program: str) -> int:
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    found = re.search(r"\) (\d+)", printed)
    return int(found[1]) if found else 0


def address(url: str) -> ProgramAddress:
    """Remove the password from an address: all users of a machine can read a program's arguments."""
    parts = urlsplit(url)
    credentials, at, place = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    asked = dict(parse_qsl(parts.query))
    password = unquote(password) or asked.pop("password", "")
    query = f"?{urlencode(asked, quote_via=quote, safe='/')}" if asked else ""
    shown = f"{parts.scheme}://{user}{at}{place}{parts.path}{query}"
    return ProgramAddress(shown, {**os.environ, **({"PGPASSWORD": password} if password else {})})
