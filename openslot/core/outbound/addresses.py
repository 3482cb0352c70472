"""Which addresses the public internet reaches, by the IANA special-purpose registries."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from openslot.core.config import Network

Address = IPv4Address | IPv6Address

# Our own tables, because the results of `is_global` differ between Python patch releases.
NOT_PUBLIC_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host agent, in public space
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# Everything outside of it is refused: loopback, mapped and compatible IPv4, ULA, link-local, site-local, multicast.
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")

NOT_PUBLIC_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # returned test network
        "3fff::/20",  # documentation
    )
)

# NAT64, the only way from an IPv6-only host to IPv4: the embedded address is checked.
NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Return whether the address belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return not is_inside(address, NOT_PUBLIC_V4)
    if address in NAT64:
        return is_public(embedded_address(address))
    return address in GLOBAL_UNICAST_V6 and not is_inside(address, NOT_PUBLIC_V6)


def embedded_address(address: IPv6Address) -> IPv4Address:
    """Return the IPv4 address that a NAT64 address stands for."""
    return IPv4Address(int(address) & 0xFFFFFFFF)


def is_inside(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether one of the networks contains the address as it is written, without unwrapping it."""
    return any(address in network for network in networks)
