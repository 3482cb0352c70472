"""The embedded PostgreSQL server: starting, finding, taking over and stopping it."""

from openslot.core.embedded.cluster import has_cluster
from openslot.core.embedded.ownership import Server, has_owner, keep_server, start_server, stop_server
from openslot.core.embedded.process import find_server
from openslot.core.embedded.root import SYSTEM_USER, postgres_program

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
