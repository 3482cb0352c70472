"""What a process is told to be: its settings, from flags and the environment, and a running database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from openslot.platform.core.config import SECRET, Settings, environment_name, file_variable
from openslot.platform.core.db import BUSY, DOWN
from openslot.platform.core.embedded import start_server, stop_server
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.outages import is_lost, reason
from openslot.processes.inheritance import wait_for_database


def choose(**flags: object) -> None:
    """Let flags override the environment, here and in every child process."""
    for field, value in flags.items():
        if value is not None:
            os.environ[environment_name(field)] = str(value)
            if field in SECRET:
                os.environ[file_variable(field)] = ""


def settings() -> Settings:
    return load_settings()


@contextmanager
def database(chosen: Settings) -> Iterator[Settings]:
    """Yield settings with the address of a running database; stop an embedded one that had to be started."""
    url = wait_for_database()
    choose(database_url=url)
    if url is not None or chosen.database_url is not None:
        with _explaining():
            yield msgspec.structs.replace(chosen, database_url=url or chosen.database_url)
        return
    server = start_server(chosen.data_dir, options=server_options(chosen))
    try:
        with _explaining():
            yield msgspec.structs.replace(chosen, database_url=server.url)
    finally:
        if server.owned:
            stop_server(chosen.data_dir)


@contextmanager
def _explaining() -> Iterator[None]:
    """Say in one sentence what kept the database from doing what it was asked."""
    try:
        yield
    except BUSY as fault:
        raise StartupError(f"The database can't do this right now: {reason(fault)}. Try again.") from None
    except DOWN as fault:
        if isinstance(fault, OSError) and not is_lost(fault):
            raise
        raise StartupError(f"The connection to the database was lost: {reason(fault)}.") from None


def server_options(chosen: Settings) -> dict[str, str]:
    return {} if chosen.database_cache_mb is None else {"shared_buffers": f"{chosen.database_cache_mb}MB"}
