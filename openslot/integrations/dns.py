"""TXT records from the DNS, for proofs of ownership of a domain."""

from dns import exception, rdatatype, resolver
from dns.asyncresolver import Resolver
from dns.rdtypes.ANY.TXT import TXT

from openslot.core.errors import Unavailable

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
            raise Unavailable(f"The DNS did not answer for {name}; try again later") from None
        # One record may consist of several strings, which are joined without a separator.
        return [b"".join(record.strings).decode("latin-1") for record in found if isinstance(record, TXT)]
