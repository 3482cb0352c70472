"""All connections of a web process: how many there are, from which addresses, and which of them are late."""

import asyncio
from collections import Counter
from typing import Protocol

from openslot.access.addresses import client_address, is_trusted
from openslot.core.config import Networks
from openslot.core.errors import Refusal, TooMany, Unavailable
from openslot.http.protocol.limits import ConnectionLimits

LOOK_EVERY = 0.25
RETRY_AFTER = 10
UNCOUNTED = ""


class HasDeadline(Protocol):
    """A connection with a deadline on the loop's clock."""

    address: str
    deadline: float

    def expire(self, now: float) -> None:
        """Handle the passed deadline."""


class Connections:
    """Counts connections by address, and enforces their deadlines."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[HasDeadline] = set()
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: HasDeadline, loop: asyncio.AbstractEventLoop) -> None:
        """Register a connection, or raise a refusal."""
        refusal = self._find_refusal(connection.address)
        if refusal is not None:
            raise refusal
        self._open.add(connection)
        self._counts[connection.address] += 1
        if self._timer is None:
            self._timer = loop.call_later(LOOK_EVERY, self._look, loop)

    def remove(self, connection: HasDeadline) -> None:
        """Remove a connection; one that was refused was never registered."""
        if connection not in self._open:
            return
        self._open.remove(connection)
        self._counts[connection.address] -= 1
        if not self._counts[connection.address]:
            del self._counts[connection.address]

    def _find_refusal(self, address: str) -> Refusal | None:
        most = self._limits.connections_per_address
        if address != UNCOUNTED and self._counts[address] >= most:
            return TooMany(f"At most {most} connections may be open from one address", retry_after=RETRY_AFTER)
        if len(self._open) >= self._limits.connections:
            return Unavailable("Too many connections are open", retry_after=RETRY_AFTER)
        return None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        # Checking all of them regularly is cheaper than a timer for every request.
        now = loop.time()
        for connection in [one for one in self._open if one.deadline <= now]:
            connection.expire(now)
        self._timer = loop.call_later(LOOK_EVERY, self._look, loop) if self._open else None


def counted_address(peer: str | None, trusted: Networks) -> str:
    """Return the address that a connection counts for; a trusted proxy is not counted."""
    if peer is None or is_trusted(peer, trusted):
        return UNCOUNTED
    return client_address(peer, None, trusted)
