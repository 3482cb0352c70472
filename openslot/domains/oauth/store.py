"""All SQL of access by OAuth: consents under way, and what was granted."""

from datetime import datetime
from uuid import UUID

from openslot.domains.oauth.models import ConsentAttempt, Grant
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

ATTEMPTS = Rows(ConsentAttempt, "oauth_attempts a")
GRANTS = Rows(Grant, "oauth_grants g")
INSERT_ATTEMPT = ATTEMPTS.insert("state_hash", "session_id")
INSERT_GRANT = GRANTS.insert()
BEGIN_REFRESH = "update oauth_grants set refresher = $2, refreshing_until = $3 where id = $1"
END_REFRESH = """
update oauth_grants set secret = $3, expires_at = $4, refresher = null, refreshing_until = null
where id = $1 and refresher = $2"""
LEAVE_REFRESH = """
update oauth_grants set state = $3, refresher = null, refreshing_until = null where id = $1 and refresher = $2"""
RENEW = """
update oauth_grants set secret = $2, scopes = $3, state = 'ok', expires_at = $4, refresher = null,
    refreshing_until = null
where id = $1"""


async def insert_attempt(db: Db, attempt: ConsentAttempt, *, state_hash: bytes, session_id: UUID) -> None:
    await db.execute(INSERT_ATTEMPT, *ATTEMPTS.values(attempt), state_hash, session_id)


async def take_attempt(db: Db, state_hash: bytes, *, session_id: UUID) -> ConsentAttempt | None:
    """Return what this session has begun, only once."""
    statement = f"delete from oauth_attempts a where state_hash = $1 and session_id = $2 returning {ATTEMPTS.columns}"
    row = await db.fetchrow(statement, state_hash, session_id)
    return ATTEMPTS.read(row) if row else None


async def insert_grant(db: Db, grant: Grant) -> None:
    await db.execute(INSERT_GRANT, *GRANTS.values(grant))


async def lock_grant(db: Db, grant_id: UUID) -> Grant | None:
    row = await db.fetchrow(f"select {GRANTS.columns} from oauth_grants g where g.id = $1 for update", grant_id)
    return GRANTS.read(row) if row else None


async def begin_refresh(db: Db, grant_id: UUID, refresher: UUID, *, until: datetime) -> None:
    await db.execute(BEGIN_REFRESH, grant_id, refresher, until)


async def end_refresh(db: Db, grant_id: UUID, refresher: UUID, secret: bytes, *, expires_at: datetime) -> bool:
    """Write new tokens; False if somebody else has taken the refresh over, or the consent was given again."""
    return count_of(await db.execute(END_REFRESH, grant_id, refresher, secret, expires_at)) == 1


async def leave_refresh(db: Db, grant_id: UUID, refresher: UUID, *, state: str) -> None:
    await db.execute(LEAVE_REFRESH, grant_id, refresher, state)


async def renew_grant(db: Db, grant_id: UUID, secret: bytes, scopes: tuple[str, ...], *, expires_at: datetime) -> None:
    await db.execute(RENEW, grant_id, secret, list(scopes), expires_at)


async def delete_grant(db: Db, grant_id: UUID) -> None:
    await db.execute("delete from oauth_grants where id = $1", grant_id)
