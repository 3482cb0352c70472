"""Limits of one web process: sizes, times and numbers."""

import resource

from msgspec import Struct

from openslot.core.config import Networks, Settings

# Descriptors that are not connections: the listener, logs, time zones, metrics files.
SPARE_DESCRIPTORS = 128
MOST_CONNECTIONS = 65_536


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """The limits of a connection."""

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
    """How long a client may accept nothing of a response that is being sent."""
    linger_seconds: float = 2
    """How long a refused client has to read the reason before the connection is closed."""
    linger_bytes: int = 64 * 1024
    """How many of the bytes that it still sends are discarded in the meantime."""
    connections_per_address: int = 256
    connections: int = MOST_CONNECTIONS
    trusted_proxies: Networks = Networks()
    """Their connections carry many clients, and are not counted by address."""


def limits_of(settings: Settings) -> ConnectionLimits:
    """Read the limits from the settings and from the number of available descriptors."""
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
    """Return how many connections leave descriptors for everything else, however few there are."""
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(max(descriptors - spare, descriptors // 2), MOST_CONNECTIONS)
