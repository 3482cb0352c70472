"""How long events are kept: all that belongs to one goes with it, and none goes that is still needed."""

from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

from openslot.core.config import Settings
from openslot.core.db import Db, count_of

# An event is written with the time at which its transaction began. One that began early and was committed late stands
# behind younger ones in the feed.
COMMITTED_WITHIN = timedelta(hours=1)

NEEDED = "select from effects f where f.event_id = v.id and f.state in ('waiting', 'queued', 'running')"
# By their numbers, from the oldest on: that needs no index of its own.
LOOK = """
select count(*) as looked_at, max(no) as last, bool_or(v.at < $2) as has_old,
       array_agg(id) filter (where v.at < $2 and {is_free}) as free
from (select id, no, at from events where no > $1 order by no limit $3) v"""
# Whoever adds an effect or a try to an event locks it; such an event is passed over. What was added before is seen by
# the next statement.
LOCK = "select id from events where id = any($1) for update skip locked"
DELETE = "delete from events v where v.id = any($1) and {is_free}"


class OldEvents(NamedTuple):
    """Events that are older than they are kept and free to go, and behind which number to look on; None at the end."""

    ids: list[UUID]
    next: int | None


def kept_since(settings: Settings, *, now: datetime) -> datetime:
    """Tell from when on every event is kept."""
    return now - timedelta(days=settings.keep_events_days)


async def find_old_events(db: Db, *, uses: tuple[str, ...], before: datetime, behind: int, limit: int) -> OldEvents:
    """Look at so many events behind a number, from the oldest on."""
    row = await db.fetchrow(_write(LOOK, uses), behind, before - COMMITTED_WITHIN, limit)
    assert row is not None  # noqa: S101 - an aggregate
    goes_on = row["has_old"] and row["looked_at"] == limit
    return OldEvents(row["free"] or [], row["last"] if goes_on else None)


async def delete_events(db: Db, event_ids: list[UUID], *, uses: tuple[str, ...]) -> int:
    """Delete events that nobody is at and that nothing needs, with all that belongs to them."""
    locked = await db.fetch(LOCK, event_ids)
    return count_of(await db.execute(_write(DELETE, uses), [row["id"] for row in locked]))


@cache
def _write(statement: str, uses: tuple[str, ...]) -> str:
    # `offset 0` has each event looked up by itself, instead of all that might need some event.
    return statement.format(is_free=" and ".join(f"not exists ({each} offset 0)" for each in (NEEDED, *uses)))
