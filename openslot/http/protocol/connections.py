"""All connections of a web process: how many there are, from where, and which of them are late."""

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


class Late(Protocol):
    """A connection that must have come further by a moment of the loop's clock."""

    address: str
    deadline: float

    def expire(self, now: float) -> None:
        """Do what is to be done about it."""


class Connections:
    """Counts connections by address, and looks after their deadlines."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[Late] = set()
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: Late, loop: asyncio.AbstractEventLoop) -> None:
        """Take a connection in, or refuse it."""
        refusal = self._find_refusal(connection.address)
        if refusal is not None:
            raise refusal
        self._open.add(connection)
        self._counts[connection.address] += 1
        if self._timer is None:
            self._timer = loop.call_later(LOOK_EVERY, self._look, loop)

    def remove(self, connection: Late) -> None:
        """Forget a connection; one that was refused was never in."""
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
        # One look at all of them now and then is cheaper than a timer for every request.
        now = loop.time()
        for connection in [one for one in self._open if one.deadline <= now]:
            connection.expire(now)
        self._timer = loop.call_later(LOOK_EVERY, self._look, loop) if self._open else None


def counted_address(peer: str | None, trusted: Networks) -> str:
    """Name the address that a connection counts for: none for a trusted proxy."""
    if peer is None or is_trusted(peer, trusted):
        return UNCOUNTED
    return client_address(peer, None, trusted)
