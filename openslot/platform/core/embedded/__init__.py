"""The embedded PostgreSQL server: starting, finding, taking over and stopping it."""

from openslot.platform.core.embedded.cluster import SYSTEM_USER, has_cluster, postgres_program
from openslot.platform.core.embedded.process import (
    Server,
    find_server,
    has_owner,
    keep_server,
    start_server,
    stop_server,
)

__all__ = [
    "SYSTEM_USER",
    "Server",
    "find_server",
    "has_cluster",
    "has_owner",
    "keep_server",
    "postgres_program",
    "start_server",
    "stop_server",
]
