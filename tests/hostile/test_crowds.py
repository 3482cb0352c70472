"""Many connections: an address has its share, and nobody else is shut out."""

import resource
from contextlib import ExitStack

import psutil
import pytest

from openslot.processes.web import ENOUGH, raise_descriptor_limit
from tests.hostile.server import CONNECTIONS, PROXY, Server
from tests.hostile.wire import HEAD, POST
from tests.support.parts import how_many

pytestmark = pytest.mark.rest("opens a thousand connections")

CROWD = how_many(1100)
HALF_BODY = POST + b"Content-Length: 100\r\n\r\n{"


@pytest.mark.parametrize("half", [b"", HEAD, HALF_BODY], ids=["silent", "half a head", "half a body"])
def test_an_address_has_only_so_many_connections(server: Server, source: str, half: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(server.connect(source)).send(half)
        refused = [server.send(HEAD, source) for _ in range(3)]
        assert server.connections(source) <= CONNECTIONS
        assert server.is_well()

    assert {answer.status for answer in refused} == {429}
    assert refused[0].json == {"error": f"At most {CONNECTIONS} connections may be open from one address"}
    assert int(refused[0].headers["retry-after"]) > 0
    assert refused[0].headers["connection"] == "close"


def test_a_connection_that_ends_makes_room_for_another(server: Server, source: str) -> None:
    for _ in range(3 * CONNECTIONS):
        assert server.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", source).status == 200
        server.send(b"FOO\r\n\r\n", source)
    server.wait_until_rid_of(source)
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            wire = stack.enter_context(server.connect(source))
            wire.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wire.socket.recv(12) == b"HTTP/1.1 200"


def test_a_trusted_proxy_is_not_counted(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(3 * CONNECTIONS):
            wire = stack.enter_context(server.connect(PROXY))
            wire.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wire.socket.recv(12) == b"HTTP/1.1 200"


def test_the_limit_of_descriptors_is_raised_at_the_start(server: Server) -> None:
    soft, hard = psutil.Process(server.pid).rlimit(psutil.RLIMIT_NOFILE)

    assert soft == (ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH))


@pytest.mark.parametrize("half", [HEAD, HALF_BODY], ids=["heads", "bodies"])
def test_a_crowd_of_half_requests_shuts_nobody_out(server: Server, half: bytes) -> None:
    raise_descriptor_limit()
    sources = [f"127.50.{number // 200}.{number % 200 + 1}" for number in range(CROWD // CONNECTIONS + 1)]
    with ExitStack() as stack:
        for number in range(CROWD):
            stack.enter_context(server.connect(sources[number // CONNECTIONS])).send(half)
            if number % 100 == 0:
                assert server.is_well()
        assert server.is_well()
