"""What is done because time has passed: holds expire, and what they leave behind is removed."""

from datetime import timedelta
from functools import partial

from openslot.domains.accounts.store import try_lock_host
from openslot.domains.availability import team_store
from openslot.domains.availability.claims.expiry import store
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Periodic, Runtime, Work
from openslot.platform.jobs.batches import repeat
from openslot.platform.jobs.each import serve_each

EXPIRE = "claims.expire"


async def expire_holds(work: Work) -> str:
    """Deactivate expired holds, one host and one transaction at a time."""
    hosts = await store.list_hosts_with_expired_holds(work.db, now=work.now, limit=1000)
    expired = await serve_each(work, EXPIRE, hosts, partial(_expire_holds_of, work.runtime))
    return f"{sum(expired.results)} holds expired"


async def _expire_holds_of(runtime: Runtime, host_no: int) -> int:
    """Switch one host's expired holds off, unless someone is changing the host's time: the next run comes soon."""
    async with runtime.transaction(SYSTEM) as work:
        if not await try_lock_host(work.db, host_no):
            return 0
        return await store.expire_holds(work.db, host_no, now=work.now)


async def tidy_claims(work: Work) -> str:
    """Remove holds that expired a day ago, group sessions that nobody is booked in, and old tokens of changes."""
    before = work.now - timedelta(days=1)
    holds = await repeat(lambda limit: store.delete_holds(work.db, before, limit=limit))
    seats = await repeat(lambda limit: store.delete_seats(work.db, before, limit=limit))
    sessions = await repeat(lambda limit: store.delete_sessions(work.db, before, limit=limit))
    await team_store.tidy_changes(work.db)
    return f"{holds + seats} holds, {sessions} sessions removed"


AVAILABILITY_JOBS = (
    Periodic(name=EXPIRE, expression="* * * * *", run=expire_holds, transaction="none"),
    Periodic(name="claims.tidy", expression="3-59/5 * * * *", run=tidy_claims, transaction="none"),
)
