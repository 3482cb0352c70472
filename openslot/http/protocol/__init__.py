"""HTTP/1.1 between the socket and the app: limits of size, time and number, before a request is looked at."""

import asyncio
from functools import partial
from typing import cast

from openslot.core.config import Settings
from openslot.http.protocol.connection import Connection
from openslot.http.protocol.limits import ConnectionLimits, Connections, Shares, limits_of
from openslot.http.security import api_headers


def protocol_for(settings: Settings, limits: ConnectionLimits | None = None) -> type[asyncio.Protocol]:
    """Create the protocol class that uvicorn instantiates for each connection of one server."""
    chosen = limits or limits_of(settings)
    made = partial(
        Connection,
        limits=chosen,
        connections=Connections(chosen),
        shares=Shares(chosen.connections_per_address),
        refusal_headers=api_headers(settings),
    )
    return cast("type[asyncio.Protocol]", made)
