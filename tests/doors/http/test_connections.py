"""Whose connections are counted together, and how many there may be."""

import asyncio
import resource

import pytest

from openslot.domains.access.door import client_address
from openslot.doors.http.errors import status_of
from openslot.doors.http.protocol.limits import (
    UNCOUNTED,
    ConnectionLimits,
    Connections,
    connections_within,
    counted_address,
    limits_of,
)
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.errors import Refusal

NOBODY = Networks()
PROXIES = Networks.parse("10.0.0.0/8, fd00::/8")
LATER = 1e9


class Caller:
    """A connection from somewhere."""

    def __init__(self, peer: str, trusted: Networks = NOBODY) -> None:
        self.address = counted_address(peer, trusted)
        self.deadline = LATER

    def expire(self, now: float) -> None:
        raise AssertionError(f"expired at {now}")


def admitted(limits: ConnectionLimits, peers: list[str], trusted: Networks = NOBODY) -> list[int]:
    """Let them come one after the other; tell the status of each refusal, 0 where there is none."""
    connections, loop, told = Connections(limits), asyncio.new_event_loop(), []
    for peer in peers:
        try:
            connections.add(Caller(peer, trusted), loop)
            told.append(0)
        except Refusal as refusal:
            told.append(status_of(refusal))
    loop.close()
    return told


@pytest.mark.parametrize(
    ("peers", "statuses"),
    [
        (["192.0.2.1"] * 3, [0, 0, 429]),
        (["192.0.2.1", "192.0.2.1", "192.0.2.2"], [0, 0, 0]),
        (["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff:ffff:ffff:ffff"], [0, 0, 429]),
        (["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"], [0, 0, 0]),
        (["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"], [0, 0, 429]),
        (["fe80::1%eth0", "fe80::2%eth1", "fe80::3%eth2"], [0, 0, 429]),
    ],
)
def test_an_address_is_an_ipv4_one_or_the_64_of_an_ipv6_one(peers: list[str], statuses: list[int]) -> None:
    assert admitted(ConnectionLimits(connections_per_address=2), peers) == statuses


@pytest.mark.parametrize("peer", ["10.1.2.3", "fd00::1", "::ffff:10.1.2.3"])
def test_a_trusted_proxy_is_not_counted(peer: str) -> None:
    limits = ConnectionLimits(connections_per_address=2)

    assert admitted(limits, [peer] * 5, PROXIES) == [0] * 5
    assert admitted(limits, [peer] * 3) == [0, 0, 429]


def test_all_together_have_their_limit_proxies_among_them() -> None:
    limits = ConnectionLimits(connections_per_address=2, connections=3)

    assert admitted(limits, ["10.0.0.1", "192.0.2.1", "192.0.2.2", "10.0.0.1", "192.0.2.3"], PROXIES) == [
        0, 0, 0, 503, 503,
    ]  # fmt: skip


def test_a_connection_without_an_address_is_not_counted() -> None:
    assert counted_address(None, NOBODY) == UNCOUNTED
    assert client_address("192.0.2.1", None, NOBODY) != UNCOUNTED


def test_one_that_has_gone_makes_room_and_only_once() -> None:
    connections, loop = Connections(ConnectionLimits(connections_per_address=1)), asyncio.new_event_loop()
    first, second = Caller("192.0.2.1"), Caller("192.0.2.1")
    connections.add(first, loop)
    with pytest.raises(Refusal):
        connections.add(second, loop)
    connections.remove(second)
    with pytest.raises(Refusal):
        connections.add(second, loop)
    connections.remove(first)
    connections.add(second, loop)
    loop.close()


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [(64, 32), (256, 128), (1024, 886), (20_000, 19_862), (10**9, 65_536), (resource.RLIM_INFINITY, 65_536)],
)
def test_descriptors_are_left_for_what_is_no_connection(descriptors: int, connections: int) -> None:
    assert connections_within(descriptors, spare=138) == connections


def test_the_bounds_are_the_operators() -> None:
    chosen = Settings(head_timeout=3, body_timeout=4, limit_connections=5, trusted_proxies=PROXIES)
    limits = limits_of(chosen)

    assert (limits.head_seconds, limits.body_seconds, limits.send_seconds) == (3, 4, 4)
    assert (limits.connections_per_address, limits.trusted_proxies) == (5, PROXIES)
    assert (limits.head_bytes, limits.fields) == (32 * 1024, 100)
