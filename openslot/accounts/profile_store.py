"""All SQL of profiles."""

from datetime import datetime
from uuid import UUID

from openslot.core.db import Db

# While a picture is being prepared, its account may be closed or erased.
SAVE_PHOTO = """
with owner as (
    update users set photo = $2, updated_at = $4 where id = $1 and disabled_at is null returning id)
insert into photos (user_id, hash, body, updated_at) select id, $2, $3, $4 from owner
on conflict (user_id) do update set hash = excluded.hash, body = excluded.body, updated_at = excluded.updated_at"""
DELETE_PHOTO = """
with gone as (delete from photos where user_id = $1)
update users set photo = null, updated_at = $2 where id = $1 and photo is not null"""


async def find_welcome(db: Db, user_id: UUID) -> str | None:
    """Read a welcome text."""
    found: str | None = await db.fetchval("select welcome from users where id = $1", user_id)
    return found


async def update_welcome(db: Db, user_id: UUID, text: str | None, *, now: datetime) -> None:
    """Write a welcome text; one that is the same is not written."""
    await db.execute(
        "update users set welcome = $2, updated_at = $3 where id = $1 and welcome is distinct from $2",
        user_id,
        text,
        now,
    )


async def save_photo(db: Db, user_id: UUID, photo_hash: str, body: bytes, *, now: datetime) -> None:
    """Write the photo of an open account, replacing the previous one."""
    await db.execute(SAVE_PHOTO, user_id, photo_hash, bytes(body), now)


async def delete_photo(db: Db, user_id: UUID, *, now: datetime) -> None:
    """Delete a photo."""
    await db.execute(DELETE_PHOTO, user_id, now)


async def find_photo(db: Db, photo_hash: str) -> bytes | None:
    """Look up a photo of anyone whose account is open."""
    found: bytes | None = await db.fetchval(
        """select p.body from photos p join users u on u.id = p.user_id
        where p.hash = $1 and u.disabled_at is null limit 1""",
        photo_hash,
    )
    return found
