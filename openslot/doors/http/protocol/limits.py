"""Limits of one web process: sizes, times and numbers of connections, and each client's share of the event loop."""

import asyncio
import resource
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Generator
from time import perf_counter
from typing import Any, Protocol

from msgspec import Struct

from openslot.domains.access.door import client_address, is_trusted
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.errors import RateLimited, Unavailable

# Descriptors that are not connections: the listener, logs, time zones, metrics files.
SPARE_DESCRIPTORS = 128
MAX_CONNECTIONS = 65_536


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    head_bytes: int = 32 * 1024
    """The size from the first byte of the request line to the empty line."""
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
    connections: int = MAX_CONNECTIONS
    trusted_proxies: Networks = Networks()
    """Networks whose connections carry many clients, and are not counted by address."""


def limits_of(settings: Settings) -> ConnectionLimits:
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
        return MAX_CONNECTIONS
    return min(max(descriptors - spare, descriptors // 2), MAX_CONNECTIONS)


LOOK_EVERY = 0.25
RETRY_AFTER = 10
UNCOUNTED = ""


class HasDeadline(Protocol):
    """A connection with a deadline on the loop's clock."""

    address: str
    deadline: float

    def expire(self, now: float) -> None: ...


class Connections:
    """Counts connections by address, and enforces their deadlines."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: set[HasDeadline] = set()
        self._counts: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: HasDeadline, loop: asyncio.AbstractEventLoop) -> None:
        max_ = self._limits.connections_per_address
        if connection.address != UNCOUNTED and self._counts[connection.address] >= max_:
            raise RateLimited(f"At most {max_} connections may be open from one address", retry_after=RETRY_AFTER)
        if len(self._open) >= self._limits.connections:
            raise Unavailable("Too many connections are open", retry_after=RETRY_AFTER)
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


# Longer than almost every step of a request, so that waiting costs next to nothing if clients are well-behaved.
SHARE_SECONDS = 0.005
# Fewer than a process has connections to the database, so that one client never holds all of them.
MAX_BESIDE_OTHERS = 8
MAX_ALONE = 32
# Beside many busy clients a client waits no longer than this many times what it has used.
LONGEST_WAIT = 8
SHARE_RETRY_AFTER = 1


class ClientWait(asyncio.Future[None]):
    """What a request awaits if its own client keeps it waiting; meanwhile it takes no place."""


class ClientShare:
    """The requests of one client, and the time that they have used since the others had their turn."""

    __slots__ = ("_loop", "_news", "_shares", "_until", "client", "line", "requests", "running", "used", "waiting")

    def __init__(self, shares: "Shares", client: str) -> None:
        self._shares = shares
        self._loop = asyncio.get_running_loop()
        self.client = client
        self.requests = 0
        self.running = 0
        """How many requests have begun, without those that wait for their client."""
        self.waiting: dict[Start, None] = {}
        """The requests that have not begun, in order."""
        self.used = 0.0
        self.line: deque[object] = deque()
        """The steps of running requests that wait until the others had their turn, in order."""

    def give_way(self) -> None:
        """Let the others have their turn, because this share is used up."""
        self._until = perf_counter() + self.used * self._shares.others
        self._news = self._shares.news
        self._loop.call_soon(self._look)

    def wait(self) -> Generator[None, None, None]:
        """Wait behind those of the same client that wait already; everything else that is ready runs in between."""
        place = object()
        self.line.append(place)
        try:
            while self.used >= SHARE_SECONDS or self.line[0] is not place:
                yield
        finally:
            self.line.remove(place)

    def _look(self) -> None:
        """Begin anew once the event loop had nothing else to do, or the others have had as much time each."""
        if self._news == self._shares.news or perf_counter() >= self._until:
            self.used = 0.0
            return
        self._news = self._shares.news
        self._loop.call_soon(self._look)


Start = Callable[[ClientShare], None]


class Shares:
    """The shares of all clients that have a request in progress."""

    def __init__(self, max_requests: int) -> None:
        self._max = max_requests
        self._by_client: dict[str, ClientShare] = {}
        self.news = 0
        """Grows with each connection, and with each request and step of a client that has not used up its share."""

    @property
    def others(self) -> int:
        """How many others get their turn before a client that has used its share; one may be about to connect."""
        return min(max(1, len(self._by_client) - 1), LONGEST_WAIT)

    def enter(self, client: str, start: Start, *, is_bounded: bool) -> ClientShare:
        """Start a request, at once or after others of its client; refuse it if too many of a client wait."""
        share = self._by_client.get(client)
        if share is None:
            share = self._by_client[client] = ClientShare(self, client)
        elif is_bounded and share.requests >= self._max:
            raise RateLimited(
                f"At most {self._max} requests may be in progress from one address", retry_after=SHARE_RETRY_AFTER
            )
        if share.used < SHARE_SECONDS:
            self.news += 1
        share.requests += 1
        share.waiting[start] = None
        self._start_waiting(share)
        return share

    def withdraw(self, share: ClientShare, start: Start) -> None:
        """Forget a request whose client has gone before it was started."""
        if start in share.waiting:
            del share.waiting[start]
            self._leave(share)

    async def run(self, share: ClientShare, work: Coroutine[Any, Any, None]) -> None:
        """Run a request that was started, each of its steps as soon as its client's share allows."""
        try:
            await _Steps(self, share, work)
        finally:
            self.release(share)
            self._leave(share)

    def release(self, share: ClientShare) -> None:
        """Give a running request's place to the next of its client."""
        share.running -= 1
        self._start_waiting(share)

    def _start_waiting(self, share: ClientShare) -> None:
        max_ = MAX_ALONE if len(self._by_client) == 1 else MAX_BESIDE_OTHERS
        while share.waiting and share.running < max_:
            start = next(iter(share.waiting))
            del share.waiting[start]
            share.running += 1
            start(share)

    def _leave(self, share: ClientShare) -> None:
        share.requests -= 1
        if not share.requests:
            del self._by_client[share.client]


class _Steps:
    """A coroutine whose every step, from one wait to the next, is counted."""

    __slots__ = ("_share", "_shares", "_work")

    def __init__(self, shares: Shares, share: ClientShare, work: Coroutine[Any, Any, None]) -> None:
        self._shares = shares
        self._share = share
        self._work = work

    def __await__(self) -> Generator[Any, None, None]:
        shares, share, work = self._shares, self._share, self._work
        fault: BaseException | None = None
        while True:
            if share.used >= SHARE_SECONDS or share.line:
                try:
                    yield from share.wait()
                except BaseException as thrown:  # noqa: BLE001 - a cancellation is for the request to handle
                    fault = thrown
            shares.news += 1
            began = perf_counter()
            try:
                awaited = work.send(None) if fault is None else work.throw(fault)
            except StopIteration:
                return
            finally:
                share.used += perf_counter() - began
                if share.used >= SHARE_SECONDS:
                    share.give_way()
            fault = None
            is_clients = type(awaited) is ClientWait
            if is_clients:
                shares.release(share)
            try:
                yield awaited
            except BaseException as thrown:  # noqa: BLE001 - what it awaited has failed, or it is cancelled
                fault = thrown
            if is_clients:
                share.running += 1
