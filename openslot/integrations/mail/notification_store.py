"""All SQL of notifications."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from openslot.core.db import Db

REPLACE = """
with gone as (delete from notification_choices where user_id = $1 and topic <> all($2))
insert into notification_choices (user_id, topic, is_on, updated_at)
select $1, topic, is_on, $4 from unnest($2::text[], $3::boolean[]) as chosen (topic, is_on)
on conflict (user_id, topic) do update set is_on = excluded.is_on, updated_at = excluded.updated_at"""


async def find_choices(db: Db, user_id: UUID) -> dict[str, bool]:
    """Read what a user has chosen, by topic."""
    rows = await db.fetch("select topic, is_on from notification_choices where user_id = $1", user_id)
    return {row["topic"]: row["is_on"] for row in rows}


async def replace_choices(db: Db, user_id: UUID, choices: Mapping[str, bool], *, now: datetime) -> None:
    """Write what a user has chosen; what is not named is as if never chosen."""
    await db.execute(REPLACE, user_id, [str(topic) for topic in choices], list(choices.values()), now)
