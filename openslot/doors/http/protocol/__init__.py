"""HTTP/1.1 between the socket and the app: limits of size, time and number, before a request is looked at."""

import asyncio
from functools import partial
from typing import cast

from openslot.doors.http.protocol.connection import Connection
from openslot.doors.http.protocol.limits import ConnectionLimits, Connections, Shares, limits_of
from openslot.doors.http.security import api_headers
from openslot.platform.core.config import Settings


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
