"""What time does to claims: holds expire, and what they leave behind is removed."""

from datetime import timedelta

from openslot.accounts.host_lock_store import try_lock_host
from openslot.availability import claim_store, leftover_store
from openslot.core.actor import SYSTEM
from openslot.core.events import Periodic
from openslot.core.work import Runtime, Work
from openslot.jobs.batches import repeat

MOST_HOSTS = 1000
LEFT_FOR = timedelta(days=1)


async def expire_holds(work: Work) -> str:
    """Deactivate expired holds, one host and one transaction at a time."""
    expired = 0
    for host_no in await claim_store.list_hosts_with_expired_holds(work.db, now=work.now, limit=MOST_HOSTS):
        expired += await _expire_holds_of(work.runtime, host_no)
    return f"{expired} holds expired"


async def _expire_holds_of(runtime: Runtime, host_no: int) -> int:
    """Switch one host's expired holds off, unless someone is changing the host's time: the next run comes soon."""
    async with runtime.transaction(SYSTEM) as work:
        if not await try_lock_host(work.db, host_no):
            return 0
        return await claim_store.expire(work.db, host_no, now=work.now)


async def tidy_claims(work: Work) -> str:
    """Remove holds that expired a day ago, and group sessions that nobody is booked in."""
    before = work.now - LEFT_FOR
    holds = await repeat(lambda limit: leftover_store.delete_holds(work.db, before, limit=limit))
    seats = await repeat(lambda limit: leftover_store.delete_seats(work.db, before, limit=limit))
    sessions = await repeat(lambda limit: leftover_store.delete_sessions(work.db, before, limit=limit))
    return f"{holds + seats} holds, {sessions} sessions removed"


AVAILABILITY_JOBS = (
    Periodic(name="claims.expire", expression="* * * * *", run=expire_holds, transaction="none"),
    Periodic(name="claims.tidy", expression="3-59/5 * * * *", run=tidy_claims, transaction="none"),
)
