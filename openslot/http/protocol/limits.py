"""How large, how long and how many: the bounds of one web process."""

import resource

from msgspec import Struct

from openslot.core.config import Networks, Settings

# Descriptors that are no connections: the listener, logs, time zones, files of the metrics.
SPARE_DESCRIPTORS = 128
MOST_CONNECTIONS = 65_536


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """What a connection may take."""

    head_bytes: int = 32 * 1024
    """From the first byte of the request line to the empty line."""
    fields: int = 100
    head_seconds: float = 10
    body_seconds: float = 30
    body_bytes_a_second: int = 4 * 1024
    """A body has `body_seconds`, and one second more for each such number of bytes that have arrived."""
    framing_bytes: int = 16 * 1024
    """Chunk sizes, extensions and trailer fields, beyond what a body of small chunks needs."""
    keep_alive_seconds: float = 65
    send_seconds: float = 30
    """How long a client may take nothing of an answer that waits for it."""
    linger_seconds: float = 2
    """How long a refused client has to read why, before the connection is cut."""
    linger_bytes: int = 64 * 1024
    """How much of what it still sends is thrown away meanwhile."""
    connections_per_address: int = 256
    connections: int = MOST_CONNECTIONS
    trusted_proxies: Networks = Networks()
    """Their connections are many people's, and not counted by address."""


def limits_of(settings: Settings) -> ConnectionLimits:
    """Read the bounds from the settings, and from how many descriptors the process may have."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ConnectionLimits(
        head_seconds=settings.head_timeout,
        body_seconds=settings.body_timeout,
        send_seconds=settings.body_timeout,
        connections_per_address=settings.limit_connections,
        connections=connections_within(descriptors, spare=SPARE_DESCRIPTORS + settings.database_connections),
        trusted_proxies=settings.trusted_proxies,
    )


def connections_within(descriptors: int, *, spare: int) -> int:
    """Tell how many connections leave descriptors for everything else, however few there are."""
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(max(descriptors - spare, descriptors // 2), MOST_CONNECTIONS)
