"""How a command finds a running database: by its setting, from the supervisor, or by starting the embedded one."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from openslot.cli.environment import choose
from openslot.cli.lifeline import wait_for_database
from openslot.core.config import Settings
from openslot.core.embedded import start_server, stop_server


@contextmanager
def database(chosen: Settings) -> Iterator[Settings]:
    """Yield settings with the address of a running database; stop an embedded one that had to be started."""
    url = wait_for_database()
    choose(database_url=url)
    if url is not None or chosen.database_url is not None:
        yield msgspec.structs.replace(chosen, database_url=url or chosen.database_url)
        return
    server = start_server(chosen.data_dir, options=server_options(chosen))
    try:
        yield msgspec.structs.replace(chosen, database_url=server.url)
    finally:
        if server.owned:
            stop_server(chosen.data_dir)


def server_options(chosen: Settings) -> dict[str, str]:
    """Return what an operator has chosen for the embedded server."""
    return {} if chosen.database_cache_mb is None else {"shared_buffers": f"{chosen.database_cache_mb}MB"}
