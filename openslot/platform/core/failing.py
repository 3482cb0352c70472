"""Connections to other services that stop working: why, since when, and whether their owner was told, which is once."""

from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from openslot.platform.core.db import Db, count_of

# What is refused needs its owner at once; a service that is down comes back by itself.
TELL_AFTER = timedelta(hours=6)
# All tables of connections have these columns.
FAIL = """
update {table} set last_error = $2, failing_since = $3, told_at = coalesce(told_at, $4)
where id = $1 and {is_live} and ($4::timestamptz is null or told_at is null)"""


class FailingConnection(Protocol):
    @property
    def id(self) -> UUID: ...

    @property
    def failing_since(self) -> datetime | None: ...

    @property
    def told_at(self) -> datetime | None: ...


async def keep_failure(
    db: Db,
    table: str,
    connection: FailingConnection,
    reason: str,
    *,
    needs_owner: bool,
    now: datetime,
    is_live: str = "disconnected_at is null",
) -> datetime | None:
    """Write why a connection can't be used; return since when if its owner is to be told now.

    None also if it has ended, or its owner was told meanwhile.
    """
    since = connection.failing_since or now
    tells = connection.told_at is None and (needs_owner or now - since >= TELL_AFTER)
    statement = FAIL.format(table=table, is_live=is_live)
    kept = count_of(await db.execute(statement, connection.id, reason, since, now if tells else None)) == 1
    return since if kept and tells else None
