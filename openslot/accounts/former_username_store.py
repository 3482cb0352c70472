"""All SQL of former usernames, except what the database does by itself when a username changes (0065)."""

from datetime import datetime
from uuid import UUID

from openslot.accounts.models import FormerUsername
from openslot.core.db import Db, count_of

RESERVED = "users_username_reserved"
"""The constraint of a username that is reserved for somebody else."""


async def find_current(db: Db, former: str, *, now: datetime) -> str | None:
    """Look up the username of an open account to which links with a former one lead."""
    found: str | None = await db.fetchval(
        """select u.username from former_usernames f join users u on u.id = f.user_id
        where f.name_hash = hash_username($1) and f.leads and f.reserved_until > $2 and u.disabled_at is null""",
        former,
        now,
    )
    return found


async def is_reserved(db: Db, name: str, *, now: datetime) -> bool:
    """Return whether a name is reserved for anyone, or was the name of a deleted account."""
    return bool(
        await db.fetchval(
            "select exists (select from former_usernames where name_hash = hash_username($1) and reserved_until > $2)",
            name,
            now,
        )
    )


async def list_of_user(db: Db, user_id: UUID, *, now: datetime) -> list[FormerUsername]:
    """List what is reserved for a user, the latest first."""
    rows = await db.fetch(
        """select name, leads, left_at, reserved_until from former_usernames
        where user_id = $1 and reserved_until > $2 order by left_at desc, name""",
        user_id,
        now,
    )
    return [FormerUsername(**row) for row in rows]


async def count_of_user(db: Db, user_id: UUID, *, now: datetime) -> int:
    """Count what is reserved for a user."""
    count: int = await db.fetchval(
        "select count(*) from former_usernames where user_id = $1 and reserved_until > $2", user_id, now
    )
    return count


async def update_leads(db: Db, user_id: UUID, name: str, *, leads: bool, now: datetime) -> bool:
    """Write whether links lead to the owner's page; False if the name is not reserved for this user."""
    changed = await db.fetchval(
        """update former_usernames set leads = $3
        where name_hash = hash_username($2) and user_id = $1 and reserved_until > $4 returning true""",
        user_id,
        name,
        leads,
        now,
    )
    return changed is not None


async def release(db: Db, name: str) -> None:
    """Free the name of an account that was deleted without ever having been used."""
    await db.execute("delete from former_usernames where name_hash = hash_username($1) and user_id is null", name)


async def delete_expired(db: Db, *, now: datetime, limit: int) -> int:
    """Delete reservations that have ended."""
    tag = await db.execute(
        """delete from former_usernames where name_hash = any(array(
            select name_hash from former_usernames where reserved_until <= $1 order by reserved_until limit $2))""",
        now,
        limit,
    )
    return count_of(tag)
