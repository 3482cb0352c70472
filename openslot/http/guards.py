"""Guards that stand before whole groups of handlers."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from openslot.access import limits
from openslot.http.doors import visit_of

READS_A_MINUTE = 120
HOLDS_A_MINUTE = 10


async def limit_public_bookings(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:  # noqa: ARG001
    """Let an address book in public as often in any minute as the operator allows."""
    await _limit(connection, "book", None)


async def limit_holds(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:  # noqa: ARG001
    """Let an address hold slots 10 times in any minute."""
    await _limit(connection, "hold", HOLDS_A_MINUTE)


async def limit_public_reads(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Let an address read public things 120 times in any minute."""
    await _limit(connection, "read", READS_A_MINUTE)


async def _limit(connection: ASGIConnection[Any, Any, Any, Any], what: str, most: int | None) -> None:
    visit = visit_of(connection.scope)
    house = visit.work.house
    verdict = await limits.take(house.pool, f"{what}:{visit.address}", most or house.settings.limit_public)
    verdict.check()
