"""The system's own configuration of names: hosts file, resolv.conf and nsswitch.conf, read again when they change."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Generic, TypeVar

from dns import inet, name, resolver
from dns.asyncresolver import Resolver as DnsClient
from dns.exception import DNSException

from openslot.core.outbound.addresses import Address

Content = TypeVar("Content")

RESOLV_CONF = Path("/etc/resolv.conf")
HOSTS = Path("/etc/hosts")
NSSWITCH_CONF = Path("/etc/nsswitch.conf")

# As in the C library: the name server of a system that names none, and how many are asked.
DEFAULT_NAMESERVER = "127.0.0.1"
MOST_NAMESERVERS = 3
# Before the 5 seconds end that most callers wait for the look-up and the connection together.
LOOK_UP_SECONDS = 4.0


class WatchedFile(Generic[Content]):
    """What a file says; it is read again after each change, and is empty if it can't be read."""

    def __init__(self, path: Path, read: Callable[[str], Content]) -> None:
        self._path = path
        self._read = read
        self._content: tuple[tuple[int, ...], Content] | None = None

    def get(self) -> Content:
        """Return the content as it is now."""
        version = self._get_version()
        if self._content is None or self._content[0] != version:
            self._content = (version, self._read(self._get_text()))
        return self._content[1]

    def _get_version(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def _get_text(self) -> str:
        try:
            return self._path.read_text(errors="replace")
        except OSError:
            return ""


def read_hosts(text: str) -> Mapping[str, tuple[Address, ...]]:
    """Read the addresses of every name in a hosts file; malformed lines are ignored."""
    found: dict[str, tuple[Address, ...]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        with suppress(ValueError):
            for each in map(str.lower, names):
                found[each] = tuple(dict.fromkeys((*found.get(each, ()), ip_address(address))))
    return found


def read_resolv_conf(text: str) -> DnsClient:
    """Configure a DNS client as resolv.conf says; malformed lines are ignored."""
    client = DnsClient(configure=False)
    usable = "\n".join(line for line in text.splitlines() if _is_usable(line.split()))
    with suppress(resolver.NoResolverConfiguration):
        client.read_resolv_conf(StringIO(usable))
    client.nameservers = list(client.nameservers[:MOST_NAMESERVERS]) or [DEFAULT_NAMESERVER]
    client.lifetime = LOOK_UP_SECONDS
    # If all but the last name server are dead, there is still time for its answer.
    client.timeout = min(max(client.timeout, 1.0), LOOK_UP_SECONDS / (len(client.nameservers) + 1))
    return client


def read_other_sources(text: str) -> frozenset[str]:
    """Read which sources of host names nsswitch.conf names beside the hosts file and the DNS, such as mdns4."""
    found: set[str] = set()
    for line in text.splitlines():
        database, _, sources = line.partition("#")[0].partition(":")
        if database.strip() == "hosts":
            found.update(each for each in sources.split() if not each.startswith("["))
    return frozenset(found - {"files", "dns"})


def list_candidates(client: DnsClient, host: str) -> list[name.Name]:
    """List the full names to ask for, in order: the name itself, and the name in each search domain."""
    relative = name.from_text(host, origin=None)
    domains = client.search or ([] if client.domain == name.root else [client.domain])
    searched: list[name.Name] = []
    for domain in domains:
        # A name that would be too long in a search domain can't exist there.
        with suppress(name.NameTooLong):
            searched.append(relative.concatenate(domain))
    dots = len(relative) - 1
    own = relative.concatenate(name.root)
    has_enough_dots = dots >= (1 if client.ndots is None else client.ndots)
    return list(dict.fromkeys([own, *searched] if has_enough_dots else [*searched, own]))


def _is_usable(words: list[str]) -> bool:
    match words:
        case ["nameserver", address, *_]:
            return inet.is_address(address)
        case ["search" | "domain", *domains]:
            return all(map(_is_name, domains))
        case _:
            return True


def _is_name(text: str) -> bool:
    try:
        name.from_text(text)
    except (DNSException, UnicodeError):
        return False
    return True
