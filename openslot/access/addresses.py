"""Client addresses: which client a request comes from, also behind proxies."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from openslot.core.config import Networks
from openslot.core.outbound.targets import NAT64, embedded_address

UNKNOWN = "unknown"
LONGEST = 64


def client_address(peer: str | None, forwarded_for: str | None, trusted: Networks) -> str:
    """Name the client for counting: an IPv4 address, or the /64 of an IPv6 one.

    `X-Forwarded-For` is read from the right and only as far as trusted proxies wrote it.
    """
    address = _find_address(peer, forwarded_for, trusted)
    return UNKNOWN if address is None else _bucket(address)


def find_forwarded_client(peer: str | None, forwarded_for: str, trusted: Networks) -> str | None:
    """Name the client for whom a proxy sends a request; None if that is nobody but a trusted proxy itself."""
    address = _find_address(peer, forwarded_for, trusted)
    return None if address is None or _is_trusted(address, trusted) else _bucket(address)


def network_of(address: str) -> str:
    """Return the /48 that a client is in, by the name of `client_address`; an IPv4 address stands for itself."""
    return str(IPv6Network(address).supernet(new_prefix=48)) if "/" in address else address


def is_trusted(peer: str, trusted: Networks) -> bool:
    """Return whether a peer is one of the operator's own proxies."""
    address = _parse(peer)
    return address is not None and _is_trusted(address, trusted)


def is_loopback(name: str) -> bool:
    """Return whether a peer or a `Host` is this machine itself."""
    host = _without_port(name.strip().lower())
    address = _parse(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_address(name: str) -> bool:
    """Return whether a `Host` is a plain address and not a name."""
    return _parse(_without_port(name.strip())) is not None


def _find_address(peer: str | None, forwarded_for: str | None, trusted: Networks) -> IPv4Address | IPv6Address | None:
    address = _parse(peer or "")
    if address is not None and trusted and forwarded_for is not None and _is_trusted(address, trusted):
        return _walk(address, reversed(forwarded_for.split(",")), trusted)
    return address


def _walk(address: IPv4Address | IPv6Address, hops: Iterable[str], trusted: Networks) -> IPv4Address | IPv6Address:
    for hop in hops:
        nearer = _parse(_without_port(hop.strip()))
        if nearer is None:
            return address
        address = nearer
        if not _is_trusted(address, trusted):
            return address
    return address


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _parse(text: str) -> IPv4Address | IPv6Address | None:
    # A longer text is not an address and must not fill the cache.
    return _parse_short(text) if len(text) <= LONGEST else None


@lru_cache(maxsize=4096)
def _parse_short(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=4096)
def _bucket(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    # In a network without IPv4, everyone who has no IPv6 comes from this prefix.
    if address in NAT64:
        return str(embedded_address(address))
    return str(IPv6Network((address, 64), strict=False))


def _is_trusted(address: IPv4Address | IPv6Address, trusted: Networks) -> bool:
    return any(address in network for network in trusted)
