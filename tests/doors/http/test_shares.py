"""Clients take turns: whatever one of them sends, another is answered after a few of its requests, not after all."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import pytest
import uvloop

from openslot.app import create_app
from openslot.demo.seed import seed
from openslot.domains.access.door import find_forwarded_client
from openslot.doors.http.protocol.limits import MAX_ALONE, MAX_BESIDE_OTHERS, SHARE_SECONDS, ConnectionLimits
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.work import Runtime
from openslot.platform.routing import Response, get
from tests.doors.http.talking import Receive, Scope, Send, answer, read_body
from tests.support.live import serving

FLOOD = 1000
FEW = 40
"""More than any of these needs, and far less than one pass over all connections of the flood for each of its steps."""
PROXY = Networks.parse("127.0.0.1/32")
NewLoop = Callable[[], asyncio.AbstractEventLoop]
ONE, OTHER = "203.0.113.1", "203.0.113.2"

costly_answers: list[float] = []


def be_costly() -> bytes:
    """Keep the processor busy for longer than a share."""
    until = time.perf_counter() + 2 * SHARE_SECONDS
    while time.perf_counter() < until:
        pass
    costly_answers.append(until)
    return b"done"


@get("/costly")
async def costly() -> Response:
    """Be costly, as often as anybody likes."""
    return Response(body=be_costly())


class Caller:
    """A client with as many connections as it likes."""

    def __init__(self, url: str, source: str, forwarded: str | None = None) -> None:
        self._port = int(url.rpartition(":")[2])
        self._source = source
        self._more = f"X-Forwarded-For: {forwarded}\r\n" if forwarded else ""
        self._unread: list[socket.socket] = []
        self.connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def write(self, path: str, method: str = "GET", more: str = "", body: str = "") -> bytes:
        """Write a request."""
        return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{self._more}{more}\r\n{body}".encode()

    async def send(self, data: bytes) -> asyncio.StreamReader:
        """Send these bytes on a connection of their own."""
        opened = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._source, 0))
        self.connections.append(opened)
        opened[1].write(data)
        return opened[0]

    def flood(self, data: bytes, connections: int) -> None:
        """Send these bytes on so many connections, all of them before the service gets to see the first."""
        for _ in range(connections):
            opened = socket.create_connection(("127.0.0.1", self._port), source_address=(self._source, 0))
            self._unread.append(opened)
            opened.sendall(data)

    async def ask(self, path: str) -> bytes:
        """Ask for a path, and read the answer."""
        reader = await self.send(self.write(path, more="Connection: close\r\n"))
        return await asyncio.wait_for(reader.read(), 60)

    def leave(self) -> None:
        """Close all connections at once."""
        for _, writer in self.connections:
            writer.transport.abort()
        for opened in self._unread:
            opened.close()
        self.connections.clear()


@contextmanager
def calling(url: str, *clients: tuple[str, str | None]) -> Iterator[list[Caller]]:
    """Let clients in, each from its address, and let them go in the end."""
    callers = [Caller(url, source, forwarded) for source, forwarded in clients]
    yield callers
    for caller in callers:
        caller.leave()


@asynccontextmanager
async def flooded(
    app: object, connections: int, limits: ConnectionLimits, *clients: tuple[str, str | None], path: str = "/"
) -> AsyncIterator[Caller]:
    """Let the first client flood the service, and give the second one, who was there before, once that has begun."""
    async with serving(app, limits) as url:
        with calling(url, *clients) as (flood, other):
            await other.ask(path)
            costly_answers.clear()
            flood.flood(flood.write("/costly") * (FLOOD // connections), connections)
            while not costly_answers:
                await asyncio.sleep(0)
            yield other


async def app_without_routes(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/costly` at a cost, and everything else at once."""
    if scope["type"] == "lifespan":
        await Gate()(scope, receive, send)
    else:
        await answer(send, be_costly() if scope["path"] == "/costly" else b"at once")


async def count_before(
    connections: int, limits: ConnectionLimits, flood: tuple[str, str | None], other: tuple[str, str | None]
) -> int:
    """Count how many requests of a flood are answered before one of another client."""
    async with flooded(app_without_routes, connections, limits, flood, other) as caller:
        before = len(costly_answers)
        assert b"at once" in await caller.ask("/")
        return len(costly_answers) - before


# The loop of a web process accepts one connection in each pass, others accept many.
LOOPS = pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])


@pytest.mark.rest("floods a server with requests")
@LOOPS
@pytest.mark.parametrize("connections", [1, 20, 200])
def test_a_flood_delays_another_address_by_a_few_of_its_requests(new_loop: NewLoop, connections: int) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        flood, other = ("127.0.0.1", None), ("127.0.0.2", None)

        assert runner.run(count_before(connections, ConnectionLimits(), flood, other)) < FEW


@pytest.mark.rest("floods a server with requests")
@LOOPS
@pytest.mark.parametrize("connections", [1, 20, 200])
def test_behind_a_trusted_proxy_turns_are_taken_by_the_forwarded_client(new_loop: NewLoop, connections: int) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        flood, other = ("127.0.0.1", ONE), ("127.0.0.1", OTHER)
        limits = ConnectionLimits(trusted_proxies=PROXY)

        assert runner.run(count_before(connections, limits, flood, other)) < FEW


@pytest.mark.rest("waits for seconds")
async def test_a_page_that_asks_the_database_is_delayed_by_a_few_for_each_of_its_steps(
    settings: Settings, runtime: Runtime
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
    clients, path = (("127.0.0.1", None), ("127.0.0.2", None)), "/mara/30min"
    app = create_app(settings, more_routes=[costly])
    async with flooded(app, 200, ConnectionLimits(), *clients, path=path) as other:
        before = len(costly_answers)
        assert b"200 OK" in await other.ask(path)

        assert len(costly_answers) - before < FEW


class Gate:
    """An app whose answers wait for the test."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.running: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        if scope["method"] == "POST":
            await read_body(receive)
        self.running.append(scope["path"])
        if scope["path"] != "/free":
            await self.opened.wait()
        await answer(send, b"<done>")

    async def wait_for(self, count: int) -> None:
        """Wait until so many requests have begun, and everything that could begin with them."""
        while len(self.running) < count:
            await asyncio.sleep(0.001)
        # Whatever else is on its way gets there before a request that is sent now.
        await asyncio.sleep(0.05)


@asynccontextmanager
async def gated(
    *clients: tuple[str, str | None], limits: ConnectionLimits | None = None
) -> AsyncIterator[tuple[Gate, list[Caller]]]:
    """Serve a gate that is opened in the end."""
    gate = Gate()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(gate, limits or ConnectionLimits()))
        callers = stack.enter_context(calling(url, *clients))
        stack.callback(gate.opened.set)
        yield gate, callers


async def test_beside_others_a_client_has_fewer_requests_under_way_than_there_are_connections_to_the_database() -> None:
    async with gated(("127.0.0.1", None), ("127.0.0.2", None)) as (gate, (one, other)):
        await one.send(one.write("/one"))
        await gate.wait_for(1)
        for _ in range(3 * MAX_BESIDE_OTHERS):
            await other.send(other.write("/other"))
        await gate.wait_for(1 + MAX_BESIDE_OTHERS)

        assert gate.running.count("/other") == MAX_BESIDE_OTHERS < Settings().database_connections
        gate.opened.set()
        for reader, _ in other.connections:
            assert b"<done>" in await reader.readuntil(b">")


async def test_a_request_whose_client_has_left_in_the_line_is_never_run() -> None:
    async with gated(("127.0.0.1", None), ("127.0.0.1", None)) as (gate, (one, other)):
        for _ in range(MAX_ALONE):
            await one.send(one.write("/one"))
        await gate.wait_for(MAX_ALONE)
        for _ in range(5):
            await other.send(other.write("/other"))
        await asyncio.sleep(0.05)
        other.leave()
        await asyncio.sleep(0.05)
        gate.opened.set()
        for reader, _ in one.connections:
            await reader.readuntil(b">")
        assert b"<done>" in await one.ask("/free")

    assert gate.running == ["/one"] * MAX_ALONE + ["/free"]


async def test_requests_that_wait_for_their_own_client_keep_no_other_waiting() -> None:
    async with gated(("127.0.0.1", None)) as (gate, (slow,)):
        for _ in range(2 * MAX_ALONE):
            await slow.send(slow.write("/slow", "POST", "Content-Length: 10\r\n", "half"))
        assert b"<done>" in await slow.ask("/free")
        for _, writer in slow.connections[:-1]:
            writer.write(b" more.")
        await gate.wait_for(1 + 2 * MAX_ALONE)


async def test_a_client_behind_a_proxy_has_as_many_requests_in_progress_as_an_address_has_connections() -> None:
    limits = ConnectionLimits(connections_per_address=3, trusted_proxies=PROXY)
    clients = [("127.0.0.1", ONE), ("127.0.0.1", OTHER), ("127.0.0.1", None)]
    async with gated(*clients, limits=limits) as (gate, (one, other, proxy)):
        for _ in range(3):
            await one.send(one.write("/one"))
        await gate.wait_for(3)
        refused = await one.ask("/one")
        for _ in range(3):
            await other.send(other.write("/other"))
        for _ in range(12):
            await proxy.send(proxy.write("/proxy"))
        await gate.wait_for(18)

        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"\r\nretry-after: 1\r\n" in refused
        assert refused.endswith(b'{"error":"At most 3 requests may be in progress from one address"}')
        assert (gate.running.count("/one"), gate.running.count("/other"), gate.running.count("/proxy")) == (3, 3, 12)
        gate.opened.set()
        for reader, _ in one.connections[:3]:
            assert b"<done>" in await reader.readuntil(b">")
        assert b"<done>" in await one.ask("/one")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", ONE, ONE),
        ("127.0.0.1", f"192.0.2.9, {ONE}", ONE),
        ("127.0.0.1", f"{ONE}, 10.0.0.7", ONE),
        ("127.0.0.1", "2001:db8::1", "2001:db8::/64"),
        ("127.0.0.1", "2001:db8::ffff", "2001:db8::/64"),
        ("127.0.0.1", "", None),
        ("127.0.0.1", "10.0.0.7", None),
        ("127.0.0.1", "not an address", None),
        ("192.0.2.1", ONE, "192.0.2.1"),
        (None, ONE, None),
    ],
)
def test_a_forwarded_client_is_whom_the_nearest_trusted_proxy_names(
    peer: str | None, forwarded: str, client: str | None
) -> None:
    trusted = Networks.parse("127.0.0.0/8, 10.0.0.0/8")

    assert find_forwarded_client(peer, forwarded, trusted) == client
