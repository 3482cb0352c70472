"""The connections of one client: those in use, and idle ones that can be used again."""

from weakref import WeakSet

from openslot.core.outbound.addresses import Address
from openslot.core.outbound.connections import OutboundConnection
from openslot.core.outbound.errors import CLOSED, FailureKind, OutboundFailed
from openslot.core.outbound.targets import OutboundTarget

MOST_IDLE = 10


class OutboundPool:
    """Reuses an idle connection only for a request that would be allowed to open the same one.

    A request's host is resolved and checked before the pool is asked, and the pool returns only a connection that was
    opened for the same scheme, host and port to one of the addresses just checked. So a name that has moved to a
    private address is refused even if a connection is open, and two names at one address never share a connection.
    """

    def __init__(self) -> None:
        self._idle: list[OutboundConnection] = []
        # Weak references: a response that was never closed must not keep its connection open as long as the client
        # exists.
        self._busy: WeakSet[OutboundConnection] = WeakSet()
        self._is_closed = False

    def find(self, target: OutboundTarget, addresses: tuple[Address, ...]) -> OutboundConnection | None:
        """Remove and return an idle connection to one of the addresses, the most recently used first."""
        for connection in reversed(self._idle):
            if connection.leads_to(target, addresses) and connection.is_idle:
                self._idle.remove(connection)
                return connection
        return None

    def use(self, connection: OutboundConnection) -> None:
        """Track a connection until it is released."""
        if self._is_closed:
            raise OutboundFailed(FailureKind.CONNECT, CLOSED)
        self._busy.add(connection)

    async def release(self, connection: OutboundConnection) -> None:
        """Keep the connection if it can be used again, and close those that are too old or too many."""
        if connection not in self._busy:
            return
        self._busy.remove(connection)
        known = [*self._idle, connection]
        self._idle = [] if self._is_closed else [one for one in known if one.is_idle][-MOST_IDLE:]
        for one in known:
            if one not in self._idle:
                await one.aclose()

    async def aclose(self) -> None:
        """Close every connection, including those in use, and accept no more."""
        self._is_closed = True
        closing, self._idle = [*self._idle, *self._busy], []
        for connection in closing:
            await connection.aclose()
