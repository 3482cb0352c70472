"""How many times one address may hold, and how soon again. A booking needs no hold."""

from datetime import datetime, timedelta
from math import ceil

from openslot.domains.access.door import network_of
from openslot.domains.availability.claims.holds.store import count_holds, find_last_hold, lock_network
from openslot.domains.availability.errors import HoldLimitExceeded, SlotRecentlyHeld
from openslot.domains.availability.models import SlotContext
from openslot.platform.core.work import Work

MAX_OF_ADDRESS, MAX_OF_NETWORK = 3, 12
AGAIN_AFTER = timedelta(minutes=10)


async def check_address(work: Work, holder: str) -> None:
    """Refuse what an address or its IPv6 network holds beyond its limit; others of it wait until the commit."""
    network = network_of(holder)
    await lock_network(work.db, network)
    of_address, of_network = await count_holds(work.db, holder, network, now=work.now)
    if of_address >= MAX_OF_ADDRESS or of_network >= MAX_OF_NETWORK:
        raise HoldLimitExceeded


async def check_again(work: Work, found: SlotContext, starts_at: datetime, *, holder: str) -> None:
    """Refuse to hold a time again that the same address has held until a moment ago."""
    ends_at, event_type = starts_at + found.inputs.duration, found.inputs.event_type
    of = found.host_no if event_type.team_id is None else event_type.id
    last = await find_last_hold(work.db, holder, of, starts_at=starts_at, ends_at=ends_at)
    if last is not None and last + AGAIN_AFTER > work.now:
        raise SlotRecentlyHeld(retry_after=_seconds(last + AGAIN_AFTER - work.now))


def _seconds(wait: timedelta) -> int:
    return max(1, ceil(wait.total_seconds()))
