"""TXT records from the DNS, for proofs of ownership of a domain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dns import exception, rdatatype, resolver
from dns.rdtypes.ANY.TXT import TXT

from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Unavailable
from openslot.platform.core.outbound.resolver import RESOLV_CONF, WatchedFile, read_resolv_conf
from openslot.platform.i18n import Text

NOTHING = (resolver.NXDOMAIN, resolver.NoAnswer)


class DnsResolver:
    def __init__(self, *, resolv_conf: Path = RESOLV_CONF, port: int = 53) -> None:
        self._client = WatchedFile(resolv_conf, read_resolv_conf)
        self._port = port

    async def list_txt(self, name: str) -> list[str]:
        """List the TXT records of a name; none if the name does not exist."""
        client = self._client.get()
        client.port = self._port
        try:
            found = await client.resolve(f"{name}.", rdatatype.TXT)
        except NOTHING:
            return []
        except exception.DNSException:
            raise Unavailable(Text("DNS did not answer for %(name)s. Try again later", name=name)) from None
        # One record may consist of several strings, which are joined without a separator.
        return [b"".join(record.strings).decode("latin-1") for record in found if isinstance(record, TXT)]


@asynccontextmanager
async def open_dns_resolver(settings: Settings) -> AsyncIterator[DnsResolver]:
    yield DnsResolver()
