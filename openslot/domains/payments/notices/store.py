"""The SQL of a payment provider's notices."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.payments.models import PaymentNotice, WaitingNotice
from openslot.platform.core.db import Db

# A notice that is here already is not new, whoever has brought it and however often.
INSERT = """
insert into payment_notices (connection_id, id, type, created_at, session_id, intent_id, reference, received_at)
select $1, n.id, n.type, n.created_at, n.session_id, n.intent_id, n.reference, $8
from unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
    n(id, type, created_at, session_id, intent_id, reference)
on conflict do nothing returning id"""


async def insert_notices(db: Db, connection_id: UUID, notices: Sequence[PaymentNotice], *, now: datetime) -> list[str]:
    """Write the notices that are new, and return their ids."""
    columns = (
        [each.id for each in notices],
        [each.type for each in notices],
        [each.created_at for each in notices],
        [each.session_id for each in notices],
        [each.intent_id for each in notices],
        [each.reference for each in notices],
    )
    return [row["id"] for row in await db.fetch(INSERT, connection_id, *columns, now)]


async def find_waiting(db: Db, connection_id: UUID, notice_id: str) -> WaitingNotice | None:
    """Read a notice that was not followed yet."""
    statement = """select id, session_id, intent_id, reference from payment_notices
        where connection_id = $1 and id = $2 and done_at is null"""
    row = await db.fetchrow(statement, connection_id, notice_id)
    return WaitingNotice(**row) if row else None


async def finish(db: Db, connection_id: UUID, notice_id: str, *, now: datetime) -> None:
    await db.execute(
        "update payment_notices set done_at = $3 where connection_id = $1 and id = $2", connection_id, notice_id, now
    )


async def delete_some_done_notices(db: Db, *, before: datetime, limit: int) -> int:
    """Delete notices that were followed long ago."""
    statement = """with gone as (
            delete from payment_notices where (connection_id, id) in (
                select connection_id, id from payment_notices
                where done_at is not null and received_at <= $1 order by received_at limit $2)
            returning 1)
        select count(*) from gone"""
    return int(await db.fetchval(statement, before, limit))
