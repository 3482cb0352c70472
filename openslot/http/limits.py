"""Rate limits by address, for doors that require no key, and by user, for acts that cost more than others."""

from uuid import UUID

from openslot.access import limits
from openslot.core.work import Runtime
from openslot.http.doors import Exchange
from openslot.routing import RateLimit

SAFE = frozenset({"GET", "HEAD"})


async def count(exchange: Exchange) -> None:
    """Count the request, and refuse it if its address is over the limit of any minute."""
    limit = limit_of(exchange)
    if limit is not None:
        await take(exchange.runtime, limit, exchange.address)


async def take(runtime: Runtime, limit: RateLimit, address: str) -> None:
    """Count one request of an address; for handlers that show a page when it is refused."""
    verdict = await limits.take(runtime.pool, f"{limit.name}:{address}", limit.most)
    verdict.check()


async def take_own(runtime: Runtime, limit: RateLimit, user_id: UUID) -> None:
    """Count one act of a signed-in user, whatever the address; it stays counted if the act is refused."""
    await take(runtime, limit, str(user_id))


def limit_of(exchange: Exchange) -> RateLimit | None:
    """Return the limit that applies to a request: its handler's, or else its door's."""
    door = exchange.door
    is_read = exchange.method in SAFE
    if exchange.found is not None:
        handler = exchange.found[0].handlers.get("GET" if is_read else exchange.method)
        if handler is not None and handler.declaration.limit is not None:
            return handler.declaration.limit
    return door.reads if is_read else door.writes
