"""All SQL of identities: who a user is at a provider, and which sign-ins are finished."""

from datetime import datetime
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import USER_COLUMNS, to_user
from openslot.platform.core.db import Db


async def lock_identity(db: Db, issuer: str, subject: str) -> None:
    """Let two first sign-ins of one person follow one another."""
    await db.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"identity {issuer} {subject}")


async def find_user_by_identity(db: Db, issuer: str, subject: str, *, now: datetime) -> User | None:
    statement = f"""select {USER_COLUMNS} from identities i join users u on u.id = i.user_id
        where i.issuer = $1 and i.subject = $2"""
    row = await db.fetchrow(statement, issuer, subject)
    return to_user(row, now=now) if row else None


async def insert_identity(db: Db, issuer: str, subject: str, user_id: UUID, *, now: datetime) -> bool:
    """Connect a user to a subject; False if either is connected already."""
    statement = """insert into identities (issuer, subject, user_id, created_at) values ($1, $2, $3, $4)
        on conflict do nothing returning user_id"""
    return await db.fetchval(statement, issuer, subject, user_id, now) is not None


async def find_connected_at(db: Db, issuer: str, user_id: UUID) -> datetime | None:
    found: datetime | None = await db.fetchval(
        "select created_at from identities where issuer = $1 and user_id = $2", issuer, user_id
    )
    return found


async def delete_identity(db: Db, issuer: str, user_id: UUID) -> bool:
    """Disconnect a user from the provider; False if there is no connection."""
    statement = "delete from identities where issuer = $1 and user_id = $2 returning user_id"
    return await db.fetchval(statement, issuer, user_id) is not None


async def insert_finished(db: Db, state_hash: bytes, *, expires_at: datetime) -> bool:
    """Remember that a sign-in is finished; False if it was finished before."""
    statement = """insert into finished_oidc_sign_ins (hash, expires_at) values ($1, $2)
        on conflict do nothing returning expires_at"""
    return await db.fetchval(statement, state_hash, expires_at) is not None
