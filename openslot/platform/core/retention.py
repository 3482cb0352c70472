"""How long events are kept, and how all that is kept for one tenant is deleted."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from openslot.platform.core.config import Settings
from openslot.platform.core.db import Db, count_of

# An event has the time at which its transaction began, so one from a long transaction may come after younger ones in
# the feed.
COMMITTED_WITHIN = timedelta(hours=1)

NEEDED = "select from effects f where f.event_id = v.id and f.state in ('waiting', 'queued', 'running')"
# In order of their numbers, oldest first, which needs no further index.
LOOK = """
select count(*) as looked_at, max(no) as last, bool_or(v.at < $2) as has_old,
       array_agg(id) filter (where v.at < $2 and {is_free}) as free
from (select id, no, at from events where no > $1 order by no limit $3) v"""
# Adding an effect or an attempt to an event locks the event; locked events are skipped. The next statement sees what
# was added before.
LOCK = "select id from events where id = any($1) for update skip locked"
DELETE = "delete from events v where v.id = any($1) and {is_free}"


class OldEvents(NamedTuple):
    """Events past their retention that can be deleted, and the number after which to continue; None at the end."""

    ids: list[UUID]
    next: int | None


def kept_since(settings: Settings, *, now: datetime) -> datetime:
    return now - timedelta(days=settings.keep_events_days)


async def find_old_events(db: Db, *, uses: tuple[str, ...], before: datetime, behind: int, limit: int) -> OldEvents:
    """Look at up to `limit` events after a number, oldest first."""
    row = await db.fetchrow(_write(LOOK, uses), behind, before - COMMITTED_WITHIN, limit)
    assert row is not None  # noqa: S101 - an aggregate
    goes_on = row["has_old"] and row["looked_at"] == limit
    return OldEvents(row["free"] or [], row["last"] if goes_on else None)


async def delete_events(db: Db, event_ids: list[UUID], *, uses: tuple[str, ...]) -> int:
    """Delete events that are neither locked nor needed, with everything that belongs to them."""
    locked = await db.fetch(LOCK, event_ids)
    return count_of(await db.execute(_write(DELETE, uses), [row["id"] for row in locked]))


def _write(statement: str, uses: tuple[str, ...]) -> str:
    # `offset 0` makes PostgreSQL check each event by itself instead of reading everything that might need an event.
    return statement.format(is_free=" and ".join(f"not exists ({each} offset 0)" for each in (NEEDED, *uses)))


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
