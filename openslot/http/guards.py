"""Limits by address, for the door that asks for no key."""

from openslot.access import limits
from openslot.core.config import Settings
from openslot.http.doors import Visit

READS_A_MINUTE = 120
HOLDS_A_MINUTE = 10
HOLDS = "/api/public/holds"


async def count_public(visit: Visit, path: str) -> None:
    """Let an address read, hold and book in public only so often in any minute."""
    house = visit.house
    what, most = public_limit(visit.method, path, house.settings)
    verdict = await limits.take(house.pool, f"{what}:{visit.address}", most)
    verdict.check()


def public_limit(method: str, path: str, settings: Settings) -> tuple[str, int]:
    """Tell what a public request is counted as, and how often that may be."""
    if method in {"GET", "HEAD"}:
        return "read", READS_A_MINUTE
    if path == HOLDS or path.startswith(f"{HOLDS}/"):
        return "hold", HOLDS_A_MINUTE
    return "book", settings.limit_public
