"""Resolves names as the system is configured, without threads: a look-up that is cancelled ends at once."""

import asyncio
import socket
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from dns import inet, name, rdatatype, resolver
from dns.asyncresolver import Resolver as DnsClient
from dns.exception import DNSException, Timeout
from dns.rdatatype import RdataType
from dns.resolver import NXDOMAIN, NoAnswer, NoNameservers

from openslot.platform.core.config import Settings
from openslot.platform.core.outbound.targets import GLOBAL_UNICAST_V6, Address, is_private_name

Content = TypeVar("Content")

RESOLV_CONF = Path("/etc/resolv.conf")
HOSTS = Path("/etc/hosts")
NSSWITCH_CONF = Path("/etc/nsswitch.conf")

# As in the C library: the name server of a system that names none, and how many are asked.
DEFAULT_NAMESERVER = "127.0.0.1"
MAX_NAMESERVERS = 3
# Before the 5 seconds end that most callers wait for the look-up and the connection together.
LOOK_UP_SECONDS = 4.0


class WatchedFile(Generic[Content]):
    """What a file says; it is read again after each change, and is empty if it can't be read."""

    def __init__(self, path: Path, read: Callable[[str], Content]) -> None:
        self._path = path
        self._read = read
        self._content: tuple[tuple[int, ...], Content] | None = None

    def get(self) -> Content:
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
    client.nameservers = list(client.nameservers[:MAX_NAMESERVERS]) or [DEFAULT_NAMESERVER]
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


LOOPBACK: tuple[Address, ...] = (ip_address("127.0.0.1"), ip_address("::1"))
# Some name servers never answer questions for the one family: the other's addresses don't wait longer for them.
OTHER_FAMILY_SECONDS = 0.5
DISCARD_PORT = 9


class Resolver(Protocol):
    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of the name, best first, or raise OSError."""
        ...


class SystemResolver:
    """The hosts file, and the DNS as resolv.conf says, with search domains.

    Names of private networks are resolved by `getent` if nsswitch.conf names other sources, such as mDNS.
    """

    def __init__(
        self,
        *,
        hosts: Path = HOSTS,
        resolv_conf: Path = RESOLV_CONF,
        nsswitch_conf: Path = NSSWITCH_CONF,
        port: int = 53,
    ) -> None:
        self._hosts = WatchedFile(hosts, read_hosts)
        self._client = WatchedFile(resolv_conf, read_resolv_conf)
        self._other_sources = WatchedFile(nsswitch_conf, read_other_sources)
        self._port = port

    async def resolve(self, host: str) -> tuple[Address, ...]:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            try:
                return _sort(await self._find(host.lower()))
            except Timeout as fault:
                raise TimeoutError(str(fault)) from fault
            except DNSException as fault:
                raise OSError(str(fault)) from fault

    async def _find(self, host: str) -> tuple[Address, ...]:
        listed = self._hosts.get().get(host)
        if listed:
            return listed
        if f".{host}".endswith(".localhost"):
            return LOOPBACK
        if is_private_name(host) and self._other_sources.get():
            return await _ask_getent(host)
        return await self._ask_dns(host)

    async def _ask_dns(self, host: str) -> tuple[Address, ...]:
        client = self._client.get()
        client.port = self._port
        failure: NoNameservers | None = None
        for candidate in list_candidates(client, host):
            try:
                found = await _ask_both(client, candidate)
            except NoNameservers as fault:
                failure = fault
                continue
            if found:
                return found
        raise failure or OSError(f"{host} does not exist")


@asynccontextmanager
async def open_system_resolver(_: Settings) -> AsyncIterator[SystemResolver]:
    yield SystemResolver()


async def _ask_both(client: DnsClient, asked: name.Name) -> tuple[Address, ...]:
    """Ask for the IPv6 and the IPv4 addresses at once; none if the name does not exist or has none."""
    asking = [asyncio.create_task(_ask(client, asked, kind)) for kind in (rdatatype.AAAA, rdatatype.A)]
    try:
        done, late = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        if late:
            has_some = any(each.exception() is None and each.result() for each in done)
            await asyncio.wait(late, timeout=OTHER_FAMILY_SECONDS if has_some else None)
    finally:
        for each in asking:
            each.cancel()
        answers = await asyncio.gather(*asking, return_exceptions=True)
    found = [address for answer in answers if not isinstance(answer, BaseException) for address in answer]
    failure = next((answer for answer in answers if isinstance(answer, Exception)), None)
    if failure is not None and not found:
        raise failure
    return tuple(found)


async def _ask(client: DnsClient, asked: name.Name, kind: RdataType) -> tuple[Address, ...]:
    try:
        records = await client.resolve(asked, kind)
    except (NXDOMAIN, NoAnswer):
        return ()
    return tuple(ip_address(record.address) for record in records)


async def _ask_getent(host: str) -> tuple[Address, ...]:
    """Ask the C library in a process of its own, because its look-ups can't be cancelled."""
    process = await asyncio.create_subprocess_exec("getent", "ahosts", host, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    found = [ip_address(line.split()[0]) for line in output.decode().splitlines()]
    if not found:
        raise OSError(f"{host} does not exist")
    return tuple(dict.fromkeys(found))


def _sort(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Put addresses first that this machine can reach, and global IPv6 before IPv4, as the C library does."""
    if len({address.version for address in addresses}) < 2:
        return addresses
    return tuple(sorted(addresses, key=lambda address: (not _has_route(address), _rank(address))))


def _rank(address: Address) -> int:
    if address.version == 4:
        return 1
    return 0 if address in GLOBAL_UNICAST_V6 or address.is_loopback else 2


def _has_route(address: Address) -> bool:
    """Return whether the kernel knows a way to the address; nothing is sent."""
    try:
        with socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), DISCARD_PORT))
    except OSError:
        return False
    return True
