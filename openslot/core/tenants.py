"""What is kept for one tenant: whether something is still to be done, and how all of it is deleted."""

from uuid import UUID

from openslot.core.db import Db, count_of

# The names of lanes contain addresses, and lanes with unfinished effects are never deleted otherwise.
DELETE_LANES = """
delete from lanes where lane in (
    select e.lane from effects e where e.lane is not null and e.event_id = any($1::uuid[]))"""
SOME_EVENTS = "select id from events where tenant_id = $1 or (subject_kind = 'user' and subject_id = $1) limit $2"


async def count_unfinished(db: Db, tenant_id: UUID) -> int:
    """Count the effects of a tenant's events that are still to be done; planned ones do not count."""
    statement = """select count(*) from effects e join events v on v.id = e.event_id
        where v.tenant_id = $1 and e.state in ('waiting', 'queued', 'running')"""
    found: int = await db.fetchval(statement, tenant_id)
    return found


async def delete_some_events(db: Db, tenant_id: UUID, limit: int) -> int:
    """Delete some events of a tenant, or about a user who is one, with all that follows from them."""
    ids = [row["id"] for row in await db.fetch(SOME_EVENTS, tenant_id, limit)]
    await db.execute(DELETE_LANES, ids)
    return count_of(await db.execute("delete from events where id = any($1::uuid[])", ids))


async def delete_rest(db: Db, tenant_id: UUID) -> None:
    """Delete what was planned for a tenant, and the numbers of its feed."""
    await db.execute("delete from effects where tenant_id = $1 and event_id is null", tenant_id)
    await db.execute("delete from event_feed where tenant_id = $1", tenant_id)
    await db.execute("delete from event_feeds where tenant_id = $1", tenant_id)
