"""Guards that stand before whole groups of handlers."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from openslot.access import limits
from openslot.http.doors import visit_of

READS_A_MINUTE = 120


async def limit_public_reads(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:  # noqa: ARG001
    """Let an address read public things 120 times in any minute."""
    visit = visit_of(connection.scope)
    verdict = await limits.take(visit.work.house.pool, f"read:{visit.address}", READS_A_MINUTE)
    verdict.check()
