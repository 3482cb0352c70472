"""TXT records from the DNS, for proofs of ownership of a domain."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dns import exception, rdatatype, resolver
from dns.asyncresolver import Resolver
from dns.rdtypes.ANY.TXT import TXT

from openslot.core.config import Settings
from openslot.core.errors import Unavailable
from openslot.i18n import Text

SECONDS = 5.0
NOTHING = (resolver.NXDOMAIN, resolver.NoAnswer)


class DnsResolver:
    """Asks the system's name servers, or others."""

    def __init__(self, *, nameservers: list[str] | None = None, port: int = 53) -> None:
        self._resolver = Resolver(configure=nameservers is None)
        if nameservers is not None:
            self._resolver.nameservers = nameservers
        self._resolver.port = port
        self._resolver.lifetime = SECONDS

    async def list_txt(self, name: str) -> list[str]:
        """List the TXT records of a name; none where the name does not exist."""
        try:
            found = await self._resolver.resolve(f"{name}.", rdatatype.TXT)
        except NOTHING:
            return []
        except exception.DNSException:
            raise Unavailable(Text("DNS did not answer for %(name)s. Try again later", name=name)) from None
        # One record may consist of several strings, which are joined without a separator.
        return [b"".join(record.strings).decode("latin-1") for record in found if isinstance(record, TXT)]


@asynccontextmanager
async def open_dns_resolver(settings: Settings) -> AsyncIterator[DnsResolver]:
    """Open a resolver that asks the system's name servers."""
    yield DnsResolver()
