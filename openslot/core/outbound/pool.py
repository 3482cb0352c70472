"""The connections of one client: those in use, and those that wait to be used again."""

from weakref import WeakSet

from openslot.core.outbound.addresses import Address
from openslot.core.outbound.connections import OutboundConnection
from openslot.core.outbound.errors import Kind, OutboundFailed
from openslot.core.outbound.targets import OutboundTarget

MOST_IDLE = 10


class OutboundPool:
    """Gives an idle connection to a request that would be allowed to open the very same one.

    A request's host is looked up and checked before the pool is asked, and the pool gives only a connection that was
    opened under the same scheme, host and port to one of the addresses just checked. So a name that has moved to a
    private address is refused though a connection is open, and two names at one address never share a connection.
    """

    def __init__(self) -> None:
        self._idle: list[OutboundConnection] = []
        # Weakly: a response that nobody closed must not keep its connection open for as long as the client lives.
        self._busy: WeakSet[OutboundConnection] = WeakSet()
        self._is_closed = False

    def find(self, target: OutboundTarget, addresses: tuple[Address, ...]) -> OutboundConnection | None:
        """Take out an idle connection to one of the addresses, the last used first."""
        for connection in reversed(self._idle):
            if connection.leads_to(target, addresses) and connection.is_idle:
                self._idle.remove(connection)
                return connection
        return None

    def use(self, connection: OutboundConnection) -> None:
        """Know of a connection from now until it is released."""
        if self._is_closed:
            raise OutboundFailed(Kind.CONNECT, "The client is closed.")
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
        """Close every connection, those in use too, and take no more."""
        self._is_closed = True
        closing, self._idle = [*self._idle, *self._busy], []
        for connection in closing:
            await connection.aclose()
