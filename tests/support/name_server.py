"""A real name server on loopback that answers some names, and never answers others."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
from dns import rdatatype

from openslot.platform.core.outbound.resolver import SystemResolver
from openslot.vendors.dns import DnsResolver

Records = dict[str, list[str]]


class NameServer(asyncio.DatagramProtocol):
    """What it knows may be changed while it runs; names under `silent.example` are never answered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.addresses: Records = {}
        self.texts: Records = {}
        self.aliases: dict[str, str] = {}
        self.broken = {"broken.example"}
        self.truncated: set[str] = set()
        self.mute: set[tuple[str, str]] = set()
        """Names with the type of record that is never answered."""
        self.asked: list[str] = []
        self.asked_by_tcp: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.configure()

    def configure(
        self, *, resolv_conf: str = "nameserver 127.0.0.1\n", hosts: str = "", nsswitch: str = "hosts: files dns\n"
    ) -> None:
        """Write the files from which the resolvers read their configuration."""
        for name, text in (("resolv.conf", resolv_conf), ("hosts", hosts), ("nsswitch.conf", nsswitch)):
            # As programs do that maintain these files: a new file takes the place of the old one.
            (self.folder / f"{name}.new").write_text(text)
            (self.folder / f"{name}.new").replace(self.folder / name)

    def resolver(self) -> SystemResolver:
        """Make a resolver that asks here."""
        return SystemResolver(
            hosts=self.folder / "hosts",
            resolv_conf=self.folder / "resolv.conf",
            nsswitch_conf=self.folder / "nsswitch.conf",
            port=self.port,
        )

    def txt_resolver(self) -> DnsResolver:
        """Make a resolver of TXT records that asks here."""
        return DnsResolver(resolv_conf=self.folder / "resolv.conf", port=self.port)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self.answer(data)
        if answer is None:
            return
        if str(answer.question[0].name).rstrip(".") in self.truncated:
            answer.answer.clear()
            answer.flags |= dns.flags.TC
        self.transport.sendto(answer.to_wire(), addr)

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one question over TCP."""
        with suppress(OSError, asyncio.IncompleteReadError):
            length = int.from_bytes(await reader.readexactly(2), "big")
            answer = self.answer(await reader.readexactly(length))
            if answer is not None:
                self.asked_by_tcp.append(str(answer.question[0].name).rstrip("."))
                wire = answer.to_wire()
                writer.write(len(wire).to_bytes(2, "big") + wire)
                await writer.drain()
        writer.close()

    def answer(self, data: bytes) -> dns.message.Message | None:
        """Answer from what is known, or never."""
        query = dns.message.from_wire(data)
        name, kind = str(query.question[0].name).rstrip("."), rdatatype.to_text(query.question[0].rdtype)
        self.asked.append(name)
        self.kinds[kind] += 1
        if name.endswith("silent.example") or (name, kind) in self.mute:
            return None
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        while name in self.aliases:
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME", f"{self.aliases[name]}."))
            name = self.aliases[name]
        if name in self.broken:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif name not in self.addresses and name not in self.texts:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        records = self._list_records(name, kind)
        if records:
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", kind, *records))
        return answer

    def _list_records(self, name: str, kind: str) -> list[str]:
        match kind:
            case "A":
                return [each for each in self.addresses.get(name, []) if ":" not in each]
            case "AAAA":
                return [each for each in self.addresses.get(name, []) if ":" in each]
            case "TXT":
                return [_quote(text) for text in self.texts.get(name, [])]
            case _:
                return []


def _quote(text: str) -> str:
    """Write a record in pieces, as long ones are."""
    return " ".join(f'"{text[n : n + 200]}"' for n in range(0, len(text), 200))


@asynccontextmanager
async def serving_names(*, at: str = "127.0.0.1", port: int = 0) -> AsyncIterator[NameServer]:
    """Serve names on a free port, over UDP and TCP."""
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory() as folder:
        server = NameServer(Path(folder))
        # TCP first: a port that is free there is hardly ever taken by a datagram socket.
        by_tcp = await asyncio.start_server(server.serve_tcp, at, port)
        server.port = by_tcp.sockets[0].getsockname()[1]
        transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=(at, server.port))
        try:
            yield server
        finally:
            transport.close()
            by_tcp.close()
            await by_tcp.wait_closed()


class FakeResolver:
    """Answers from a dictionary."""

    def __init__(self, records: Records) -> None:
        self.records = records

    async def list_txt(self, name: str) -> list[str]:
        return self.records.get(name, [])
