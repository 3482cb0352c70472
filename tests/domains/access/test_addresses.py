"""Whom a request is counted for, when proxies stand between."""

import pytest

from openslot.domains.access.door import client_address
from openslot.platform.core.config import Networks

PROXY = "10.0.0.1"
TRUSTED = Networks.parse("10.0.0.0/8, fd00::/8")


@pytest.mark.parametrize(
    ("peer", "bucket"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("64:ff9b::203.0.113.7", "203.0.113.7"),
        ("64:ff9b:1::203.0.113.7", "64:ff9b:1::/64"),
        (None, "unknown"),
        ("", "unknown"),
        ("a socket", "unknown"),
    ],
)
def test_ipv4_is_counted_alone_and_ipv6_by_its_network(peer: str | None, bucket: str) -> None:
    assert client_address(peer, None, TRUSTED) == bucket


@pytest.mark.parametrize(
    ("peer", "forwarded", "bucket"),
    [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        (PROXY, "", PROXY),
        (PROXY, "203.0.113.7", "203.0.113.7"),
        (PROXY, " 203.0.113.7 ", "203.0.113.7"),
        (PROXY, "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (PROXY, "198.51.100.1,203.0.113.7,10.0.0.2", "203.0.113.7"),
        (PROXY, "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (PROXY, "203.0.113.7, nonsense", PROXY),
        (PROXY, "203.0.113.7, nonsense, 10.0.0.2", "10.0.0.2"),
        (PROXY, ",,,", PROXY),
        (PROXY, "203.0.113.7:4711", "203.0.113.7"),
        (PROXY, "[2001:db8:1:2::5]:4711", "2001:db8:1:2::/64"),
        (PROXY, "2001:db8:1:2::5", "2001:db8:1:2::/64"),
        (PROXY, "::ffff:203.0.113.7", "203.0.113.7"),
        (PROXY, "[::ffff:203.0.113.7]:4711", "203.0.113.7"),
        (PROXY, "64:ff9b::203.0.113.7", "203.0.113.7"),
        (PROXY, "64:ff9b::10.0.0.2, 203.0.113.7", "203.0.113.7"),
        (PROXY, "203.0.113.7, 64:ff9b::10.0.0.2", "10.0.0.2"),
        (PROXY, "x" * 5000, PROXY),
        (PROXY, "1" * 5000, PROXY),
        ("fd00::1", "203.0.113.7", "203.0.113.7"),
        ("::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"),
    ],
)
def test_only_what_trusted_proxies_wrote_is_believed(peer: str, forwarded: str, bucket: str) -> None:
    assert client_address(peer, forwarded, TRUSTED) == bucket


def test_without_trusted_proxies_the_header_counts_for_nothing() -> None:
    assert client_address(PROXY, "203.0.113.7", Networks()) == PROXY
