"""A port that is held refuses whoever comes, lets one process listen, and is given to nobody else."""

import socket

import pytest

from tests.support.ports import held_port

ANY = ("127.0.0.1", 0)


def test_until_somebody_listens_whoever_connects_is_refused() -> None:
    with held_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_one_can_listen_and_again_after_it_has_ended() -> None:
    with held_port() as port:
        for _ in range(2):
            with socket.create_server(("127.0.0.1", port)) as listener, socket.create_connection(("127.0.0.1", port)):
                accepted, _ = listener.accept()
                accepted.close()


def test_a_second_one_can_not() -> None:
    with held_port() as port, socket.create_server(("127.0.0.1", port)), pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", port))


def test_who_asks_for_any_port_is_given_another() -> None:
    with held_port() as port:
        given = set()
        # There are fewer ports for those who ask for any one.
        for _ in range(30_000):
            with socket.create_server(ANY) as listener:
                given.add(listener.getsockname()[1])

    assert port not in given
