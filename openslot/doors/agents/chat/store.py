"""All SQL of the team chat's feed."""

from datetime import datetime
from uuid import UUID

from openslot.platform.core.db import Db, Row

# One thing may be an event for each of several people who are told of it.
IS_FIRST = """
select not exists (
    select from events o where o.subject_id = v.subject_id and o.type = v.type and o.at = v.at and o.no < v.no)
from events v where v.id = $1"""


async def is_first(db: Db, event_id: UUID) -> bool:
    """Return whether no other event says the same of the same thing at the same time."""
    return bool(await db.fetchval(IS_FIRST, event_id))


async def keep(db: Db, effect_id: UUID, text: str, *, at: datetime) -> None:
    statement = "insert into chat_messages (effect_id, at, text) values ($1, $2, $3) on conflict do nothing"
    await db.execute(statement, effect_id, at, text)


async def list_feed(db: Db, *, limit: int) -> list[Row]:
    statement = """select c.at, c.text, e.state, e.last_error as error
        from chat_messages c join effects e on e.id = c.effect_id order by c.at desc, e.no desc limit $1"""
    return await db.fetch(statement, limit)
