"""All SQL of new addresses that wait for the link in the mail."""

from datetime import datetime
from uuid import UUID

from openslot.access.models import AddressChange
from openslot.access.reset_store import DIGEST
from openslot.accounts.models import User
from openslot.core.db import Db, Row, count_of

COLUMNS = "c.id, c.user_id, c.email, c.expires_at"
OPEN = f"""address_changes c join users u on u.id = c.user_id
where c.ended_at is null and c.expires_at > $2 and u.disabled_at is null
    and lower(u.email) = lower(c.previous_email) and c.password_digest = {DIGEST}"""


async def count_recent(db: Db, user_id: UUID, *, now: datetime) -> tuple[int, int]:
    """Count what a user has asked for within an hour and within a day; the user's row is locked."""
    await db.execute("select id from users where id = $1 for no key update", user_id)
    row = await db.fetchrow(
        """select count(*) filter (where created_at > $2::timestamptz - interval '1 hour') as in_an_hour,
            count(*) as in_a_day
        from address_changes where user_id = $1 and created_at > $2::timestamptz - interval '1 day'""",
        user_id,
        now,
    )
    return (row["in_an_hour"], row["in_a_day"]) if row else (0, 0)


async def insert_change(
    db: Db, change: AddressChange, user: User, *, token_hash: bytes, password_hash: str, now: datetime
) -> bool:
    """Write what a user has asked for; False where the password is no longer the one that was checked."""
    written = await db.fetchval(
        f"""insert into address_changes
            (id, user_id, hash, email, previous_email, password_digest, created_at, expires_at)
        select $1, u.id, $3, $4, u.email, {DIGEST}, $5, $6 from users u
        where u.id = $2 and u.password_hash = $7 and lower(u.email) = lower($8) returning id""",
        change.id,
        user.id,
        token_hash,
        change.email,
        now,
        change.expires_at,
        password_hash,
        user.email,
    )
    return written is not None


async def find_change(db: Db, change_id: UUID, *, now: datetime) -> AddressChange | None:
    """Look up by its id what still waits."""
    return _to_change(await db.fetchrow(f"select {COLUMNS} from {OPEN} and c.id = $1", change_id, now))


async def find_change_of(db: Db, user_id: UUID, *, now: datetime) -> AddressChange | None:
    """Look up what a user still waits for."""
    return _to_change(await db.fetchrow(f"select {COLUMNS} from {OPEN} and c.user_id = $1", user_id, now))


async def find_change_by_link(db: Db, token_hash: bytes, user_id: UUID, *, now: datetime) -> AddressChange | None:
    """Look up by its link what a user still waits for."""
    return _to_change(
        await db.fetchrow(f"select {COLUMNS} from {OPEN} and c.hash = $1 and c.user_id = $3", token_hash, now, user_id)
    )


async def end_changes(db: Db, user_id: UUID, *, now: datetime) -> None:
    """Make every link of a user invalid."""
    await db.execute("update address_changes set ended_at = $2 where user_id = $1 and ended_at is null", user_id, now)


async def delete_old_changes(db: Db, *, before: datetime, limit: int) -> int:
    """Remove those that expired before."""
    tag = await db.execute(
        """delete from address_changes where id = any(array(
            select id from address_changes where expires_at <= $1 order by expires_at limit $2))""",
        before,
        limit,
    )
    return count_of(tag)


def _to_change(row: Row | None) -> AddressChange | None:
    return AddressChange(**row) if row else None
