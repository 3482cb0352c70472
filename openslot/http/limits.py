"""Rate limits by address, for doors that require no key, and by user, for acts that cost more than others."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from openslot.access import limits
from openslot.access.limits import LimitVerdict
from openslot.core.work import Runtime
from openslot.http.doors import Exchange
from openslot.routing import RateLimit

SAFE = frozenset({"GET", "HEAD"})


class CountedRequest(NamedTuple):
    """A request of an address, and the limit that it counts for."""

    limit: RateLimit
    address: str


async def count(exchange: Exchange) -> None:
    """Count the request, and refuse it if its address is over the limit of any minute."""
    limit = limit_of(exchange)
    if limit is not None:
        await take(exchange.runtime, limit, exchange.address)


async def take(runtime: Runtime, limit: RateLimit, address: str) -> None:
    """Count one request of an address; for handlers that show a page when it is refused."""
    verdict = await runtime.batcher(_take_many).ask(CountedRequest(limit, address))
    verdict.check()


async def take_own(runtime: Runtime, limit: RateLimit, user_id: UUID) -> None:
    """Count one act of a signed-in user, whatever the address; it stays counted if the act is refused."""
    await take(runtime, limit, str(user_id))


async def _take_many(runtime: Runtime, requests: Sequence[CountedRequest]) -> list[LimitVerdict]:
    """Count all waiting requests, with one statement for those that have the same limit."""
    verdicts: dict[int, LimitVerdict] = {}
    for max_ in {request.limit.max_ for request in requests}:
        places = [place for place, request in enumerate(requests) if request.limit.max_ == max_]
        buckets = [f"{requests[place].limit.name}:{requests[place].address}" for place in places]
        taken = await limits.take_many(runtime.pool, buckets, max_)
        verdicts.update(zip(places, taken, strict=True))
    return [verdicts[place] for place in range(len(requests))]


def limit_of(exchange: Exchange) -> RateLimit | None:
    """Return the limit that applies to a request: its handler's, or else its door's."""
    door = exchange.door
    is_read = exchange.method in SAFE
    if exchange.found is not None:
        handler = exchange.found[0].handlers.get("GET" if is_read else exchange.method)
        if handler is not None and handler.declaration.limit is not None:
            return handler.declaration.limit
    return door.reads if is_read else door.writes
