"""Decides where a request may go: resolves the name once and checks every address."""

from uuid import UUID

from openslot.core.config import Network
from openslot.core.outbound.addresses import Address
from openslot.core.outbound.errors import NO_ADDRESS, UNRESOLVED, FailureKind, OutboundFailed
from openslot.core.outbound.lookups import LookUps
from openslot.core.outbound.resolver import Resolver
from openslot.core.outbound.targets import LONGEST_URL, OutboundTarget, check_addresses, get_target


class Guard:
    """Knows which addresses the operator allows in addition to public ones."""

    def __init__(self, *, allow: tuple[Network, ...], resolver: Resolver) -> None:
        self._allow = allow
        self._look_ups = LookUps(resolver)

    def get_target(self, url: str, *, at_most: int = LONGEST_URL) -> OutboundTarget:
        """Parse where the URL leads, or refuse it if it would not be allowed whatever its name resolves to."""
        return get_target(url, allow=self._allow, at_most=at_most)

    async def get_addresses(self, target: OutboundTarget, *, owner_id: UUID | None) -> tuple[Address, ...]:
        """Return the target's addresses, or refuse it unless each of them is public or allowed."""
        addresses = (target.address,) if target.address is not None else await self._look_up(target.host, owner_id)
        check_addresses(target, addresses, allow=self._allow)
        return addresses

    def close(self) -> None:
        """End all look-ups that are under way."""
        self._look_ups.close()

    async def _look_up(self, host: str, owner_id: UUID | None) -> tuple[Address, ...]:
        try:
            addresses = await self._look_ups.resolve(host, owner_id=owner_id)
        except (OSError, UnicodeError) as fault:
            raise OutboundFailed(FailureKind.DNS, UNRESOLVED.fill(host=host)) from fault
        if not addresses:
            raise OutboundFailed(FailureKind.DNS, NO_ADDRESS.fill(host=host))
        return addresses
