"""Data keys: they sign and encrypt, and are stored encrypted by the secret key, so that both survive its rotation."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from openslot.core.db import Db, Pool, transaction
from openslot.core.errors import StartupError
from openslot.core.key_file import new_key
from openslot.core.secrets import SealBroken, Secrets, name_of

SELECT = "select sealed from data_keys order by no"
LOCK = "lock table data_keys in share row exclusive mode"
INSERT = "insert into data_keys (no, sealed, sealed_by, created_at) values ($1, $2, $3, $4)"
CLOSED = (
    "The secret key does not match this database: use the key that the database was last used with "
    "(secret.key in the data directory, or OPENSLOT_SECRET_KEY). If it is lost: openslot secret reset"
)


async def load_data_keys(
    pool: Pool, secrets: Secrets, *, is_in_use: Callable[[Db], Awaitable[bool]], now: datetime
) -> tuple[str, ...]:
    """Return the data keys; create them if there are none, the same ones for all processes that start at once.

    A database in use has links that were signed with the secret keys, and perhaps processes of an earlier version that
    still sign with them: there the secret keys themselves become the first data keys.
    """
    rows = await pool.fetch(SELECT)
    if not rows:
        async with transaction(pool) as db:
            await db.execute(LOCK)
            if not await db.fetchval("select exists (select from data_keys)"):
                await insert_data_keys(db, secrets, secrets.keys if await is_in_use(db) else (new_key(),), now=now)
        rows = await pool.fetch(SELECT)
    try:
        return tuple(secrets.open(row["sealed"]) for row in rows)
    except SealBroken:
        raise StartupError(CLOSED) from None


async def opens_all(db: Db, secrets: Secrets) -> bool:
    """Return whether the secret keys open every data key."""
    return all(secrets.opens(row["sealed"]) for row in await db.fetch(SELECT))


async def insert_data_keys(db: Db, secrets: Secrets, keys: tuple[str, ...], *, now: datetime) -> None:
    """Insert data keys in this order; the first one is used for signing and sealing."""
    sealed_by = name_of(secrets.keys[0])
    await db.executemany(INSERT, [(no, secrets.seal(key), sealed_by, now) for no, key in enumerate(keys, start=1)])


async def replace_lost_data_keys(pool: Pool, secrets: Secrets, *, now: datetime) -> bool:
    """Replace the data keys with a new random one if the secret keys can't open them; return False if they can."""
    async with transaction(pool) as db:
        await db.execute(LOCK)
        if await opens_all(db, secrets):
            return False
        await db.execute("delete from data_keys")
        await insert_data_keys(db, secrets, (new_key(),), now=now)
        return True
