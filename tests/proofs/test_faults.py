"""The proxy with faults: each mode, as a client sees it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proofs.faults import FaultProxy, Mode, faulty

SOON = 0.3
HEARD: list[bytes] = []


@contextmanager
def echoing() -> Iterator[tuple[str, int]]:
    """Run a server that sends back what it is sent."""

    def echo(taken: socket.socket) -> None:
        with taken:
            while data := taken.recv(1000):
                HEARD.append(data)
                taken.sendall(data)

    def accept() -> None:
        while True:
            try:
                taken, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(taken,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    HEARD.clear()
    with echoing() as server, faulty(server) as between:
        yield between


def dial(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def ask(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    return client.recv(1000)


def hears_nothing(client: socket.socket) -> bool:
    client.settimeout(SOON)
    try:
        client.recv(1000)
    except TimeoutError:
        return True
    finally:
        client.settimeout(10)
    return False


def test_everything_goes_through_and_the_end_too(proxy: FaultProxy) -> None:
    with dial(proxy) as client:
        assert ask(client, b"hello") == b"hello"
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert proxy.connections == 1


def test_a_delay_is_that_of_both_directions(proxy: FaultProxy) -> None:
    with dial(proxy) as client:
        proxy.turn(Mode.DELAY, delay=0.2)
        began = time.monotonic()
        assert ask(client, b"hello") == b"hello"
        assert time.monotonic() - began >= 0.4


def test_a_reset_meets_open_connections_and_new_ones(proxy: FaultProxy) -> None:
    with dial(proxy) as client:
        assert ask(client, b"hello") == b"hello"
        proxy.turn(Mode.RESET)
        with pytest.raises(ConnectionResetError):
            client.recv(1000)
    with pytest.raises(ConnectionError), dial(proxy) as another:
        ask(another, b"hello")
        ask(another, b"hello")
    proxy.turn(Mode.PASS)
    with dial(proxy) as healed:
        assert ask(healed, b"hello") == b"hello"


def test_a_half_closed_connection_says_its_end_and_takes_what_is_sent(proxy: FaultProxy) -> None:
    with dial(proxy) as client:
        assert ask(client, b"hello") == b"hello"
        proxy.turn(Mode.HALF_CLOSE)
        assert client.recv(1000) == b""
        client.sendall(b"anyone?")
        proxy.turn(Mode.PASS)
        client.sendall(b"anyone?")
        assert client.recv(1000) == b""


@pytest.mark.parametrize("mode", [Mode.BLACK_HOLE, Mode.MUTE])
def test_what_was_held_back_arrives_once_healed(proxy: FaultProxy, mode: Mode) -> None:
    with dial(proxy) as client:
        assert ask(client, b"hello") == b"hello"
        proxy.turn(mode)
        client.sendall(b"anyone?")
        assert hears_nothing(client)
        with dial(proxy) as another:
            another.sendall(b"me too")
            assert hears_nothing(another)
            assert (b"anyone?" in HEARD) is (mode is Mode.MUTE)
            proxy.turn(Mode.PASS)
            assert another.recv(1000) == b"me too"
        assert client.recv(1000) == b"anyone?"
