"""All SQL of a user's own list of sessions."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.access.models import Session
from openslot.core.db import Db, count_of


async def list_sessions(db: Db, user_id: UUID, *, this: UUID | None, now: datetime, limit: int) -> list[Session]:
    """List a user's running sessions: this one, then by their last use, newest first."""
    rows = await db.fetch(
        """select id, user_agent, created_at, last_seen_at from sessions where user_id = $1 and expires_at > $2
        order by id is not distinct from $4 desc, coalesce(last_seen_at, created_at) desc, id desc limit $3""",
        user_id,
        now,
        limit,
        this,
    )
    return [Session(**row) for row in rows]


async def delete_own_session(db: Db, user_id: UUID, session_id: UUID) -> bool:
    """End one of a user's sessions; False where the user has none with that id."""
    found = await db.fetchval("delete from sessions where id = $1 and user_id = $2 returning id", session_id, user_id)
    return found is not None


async def delete_other_sessions(db: Db, user_id: UUID, *, kept: UUID) -> int:
    """End every session of a user but one."""
    return count_of(await db.execute("delete from sessions where user_id = $1 and id <> $2", user_id, kept))


async def note_seen(db: Db, session_ids: Sequence[UUID], *, hour: datetime) -> None:
    """Write the hour in which sessions were used; a session that is being ended right now is left out."""
    await db.execute(
        """update sessions set last_seen_at = $2 where id = any(array(
            select id from sessions where id = any($1) and coalesce(last_seen_at, created_at) < $2
            order by id for update skip locked))""",
        session_ids,
        hour,
    )
