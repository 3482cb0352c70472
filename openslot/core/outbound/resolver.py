"""Resolves names as the system is configured, without threads: a look-up that is cancelled ends at once."""

import asyncio
import socket
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from dns import rdatatype
from dns.asyncresolver import Resolver as DnsClient
from dns.exception import DNSException, Timeout
from dns.name import Name
from dns.rdatatype import RdataType
from dns.resolver import NXDOMAIN, NoAnswer, NoNameservers

from openslot.core.config import Settings
from openslot.core.outbound.addresses import GLOBAL_UNICAST_V6, Address
from openslot.core.outbound.name_files import (
    HOSTS,
    LOOK_UP_SECONDS,
    NSSWITCH_CONF,
    RESOLV_CONF,
    WatchedFile,
    list_candidates,
    read_hosts,
    read_other_sources,
    read_resolv_conf,
)
from openslot.core.outbound.targets import is_private_name

LOOPBACK: tuple[Address, ...] = (ip_address("127.0.0.1"), ip_address("::1"))
# Some name servers never answer questions for the one family: the other's addresses don't wait longer for them.
OTHER_FAMILY_SECONDS = 0.5
DISCARD_PORT = 9


class Resolver(Protocol):
    """Resolves names to addresses."""

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
        """Return all addresses of the name, best first, or raise OSError."""
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
        for name in list_candidates(client, host):
            try:
                found = await _ask_both(client, name)
            except NoNameservers as fault:
                failure = fault
                continue
            if found:
                return found
        raise failure or OSError(f"{host} does not exist")


@asynccontextmanager
async def open_system_resolver(_: Settings) -> AsyncIterator[SystemResolver]:
    """Open the adapter of the port `Resolver`."""
    yield SystemResolver()


async def _ask_both(client: DnsClient, name: Name) -> tuple[Address, ...]:
    """Ask for the IPv6 and the IPv4 addresses at once; none if the name does not exist or has none."""
    asking = [asyncio.create_task(_ask(client, name, kind)) for kind in (rdatatype.AAAA, rdatatype.A)]
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


async def _ask(client: DnsClient, name: Name, kind: RdataType) -> tuple[Address, ...]:
    try:
        records = await client.resolve(name, kind)
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
