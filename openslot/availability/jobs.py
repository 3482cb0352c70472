"""What time does to claims: holds expire."""

from openslot.accounts.host_lock import try_lock_host
from openslot.availability import claim_store
from openslot.core.actor import SYSTEM
from openslot.core.events import Periodic
from openslot.core.work import House, Work

MOST_HOSTS = 1000


async def expire_holds(work: Work) -> str:
    """Switch expired holds off, one host and one transaction after the other."""
    expired = 0
    for host_no in await claim_store.list_hosts_with_expired_holds(work.db, now=work.now, limit=MOST_HOSTS):
        expired += await _expire_holds_of(work.house, host_no)
    return f"{expired} holds expired"


async def _expire_holds_of(house: House, host_no: int) -> int:
    """Switch one host's expired holds off, unless someone is changing the host's time: the next run comes soon."""
    async with house.writing(SYSTEM) as work:
        if not await try_lock_host(work.db, host_no):
            return 0
        return await claim_store.expire(work.db, host_no, now=work.now)


AVAILABILITY_JOBS = (Periodic(name="claims.expire", expression="* * * * *", run=expire_holds),)
