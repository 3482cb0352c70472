"""Sealing for the database: its data keys, a key that is not being retired, and sealing again when one is."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from uuid import UUID

import structlog
from msgspec import Struct

from openslot.platform.core.db import Db, Pool, Row, transaction
from openslot.platform.core.errors import StartupError, Unavailable
from openslot.platform.core.migrate import has_table
from openslot.platform.core.secrets import SealBroken, Secrets, name_of, new_key
from openslot.platform.core.work import Work

BITE = 200
FIRST = UUID(int=0)

# Every process seals with the key that has sealed the data keys, and locks this row until the commit; retiring that key
# waits for the lock. So everything sealed with an old key can be found, and each process can open what others seal.
HOLD = "select sealed_by from data_keys where no = 1 for share"
HOLD_ALONE = "select no, sealed from data_keys order by no for update"
RESEAL_DATA_KEY = "update data_keys set sealed = $2, sealed_by = $3 where no = $1"

log = structlog.get_logger()


class SealedColumn(Struct, frozen=True):
    """A column of sealed values, in a table whose rows have a UUID named `id`."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


class OldSecretKey(Unavailable):
    """This process does not have the key that is now used for sealing; a restart with the current keys fixes it."""


async def seal(work: Work, secret: str) -> bytes:
    """Encrypt a secret in the transaction that writes it."""
    key = work.runtime.secrets.find(await work.db.fetchval(HOLD))
    if key is None:
        log.error("this process has only old secret keys: restart it with the new one")
        raise OldSecretKey
    return key.seal(secret)


async def count_sealed(db: Db, columns: Sequence[SealedColumn]) -> int:
    """Count the values that have to be sealed again when the key changes."""
    counts = [await db.fetchval(f"select count({each.column}) from {each.table}") for each in columns]
    return sum(counts)


async def reseal_all(
    pool: Pool, secrets: Secrets, columns: Sequence[SealedColumn], *, advance: Callable[[int], None]
) -> int:
    """Seal again with the newest key everything that an older key has sealed, and return how many values there were.

    The data keys come first, which waits for transactions that are sealing: after that, none of them uses an older key.
    The other values follow, a few rows at a time while the service runs, until none is left that needs an older key.
    """
    newest, resealed = name_of(secrets.keys[0]), 0
    async with transaction(pool) as db:
        for row in await db.fetch(HOLD_ALONE):
            again = secrets.reseal(row["sealed"])
            await db.execute(RESEAL_DATA_KEY, row["no"], again, newest)
            resealed += again != row["sealed"]
    while True:
        for each in columns:
            resealed += await _reseal(pool, secrets, each, advance)
        if not await _has_old(pool, secrets, columns):
            return resealed


async def _reseal(pool: Pool, secrets: Secrets, column: SealedColumn, advance: Callable[[int], None]) -> int:
    # Only if the value has not been replaced in the meantime.
    update = f"update {column.table} set {column.column} = $3 where id = $1 and {column.column} = $2"
    resealed = 0
    async for rows in _bites(pool, column):
        readable = [(row["id"], row["sealed"]) for row in rows if secrets.opens(row["sealed"])]
        again = [(row_id, sealed, secrets.reseal(sealed)) for row_id, sealed in readable]
        changes = [change for change in again if change[1] != change[2]]
        if changes:
            await pool.executemany(update, changes)
        resealed += len(changes)
        advance(len(rows))
    return resealed


async def _has_old(pool: Pool, secrets: Secrets, columns: Sequence[SealedColumn]) -> bool:
    """Return whether anything is sealed with an older key; raise an error if none of the keys opens a value."""
    newest, lost, has_old = secrets.newest(), Counter[SealedColumn](), False
    # One snapshot for all columns: a value that moves between them, as a replaced secret does, is seen in one of them.
    async with pool.acquire() as db, db.transaction(isolation="repeatable_read", readonly=True):
        for column in columns:
            async for rows in _bites(db, column):
                closed = [row["sealed"] for row in rows if not newest.opens(row["sealed"])]
                lost[column] += sum(not secrets.opens(sealed) for sealed in closed)
                has_old = has_old or any(secrets.opens(sealed) for sealed in closed)
    if +lost:
        where = ", ".join(f"{count} in {column}" for column, count in (+lost).items())
        raise StartupError(
            f"No secret key can decrypt some values ({where}): restore the key that encrypted them, "
            "or replace them. No key was retired."
        )
    return has_old


async def _bites(db: Db, column: SealedColumn) -> AsyncIterator[list[Row]]:
    """Read the values of a column, a few rows at a time."""
    select = f"""select id, {column.column} as sealed from {column.table}
    where id > $1 and {column.column} is not null order by id limit {BITE}"""
    after = FIRST
    while rows := await db.fetch(select, after):
        yield rows
        after = rows[-1]["id"]


SELECT = "select sealed from data_keys order by no"
LOCK = "lock table data_keys in share row exclusive mode"
INSERT = "insert into data_keys (no, sealed, sealed_by, created_at) values ($1, $2, $3, $4)"
CLOSED = (
    "The secret key does not match this database: copy secret.key from the data directory of the machine that used the "
    "database last, or set OPENSLOT_SECRET_KEY as it is set there. Only if no machine and no backup has it any more: "
    "openslot secret reset"
)


async def load_data_keys(pool: Pool, secrets: Secrets, *, now: datetime) -> tuple[str, ...]:
    """Return the data keys; create one if there is none, the same for all processes that start at once."""
    rows = await pool.fetch(SELECT)
    if not rows:
        async with transaction(pool) as db:
            await db.execute(LOCK)
            if not await db.fetchval("select exists (select from data_keys)"):
                await insert_data_keys(db, secrets, (new_key(),), now=now)
        rows = await pool.fetch(SELECT)
    try:
        return tuple(secrets.open(row["sealed"]) for row in rows)
    except SealBroken:
        raise StartupError(CLOSED) from None


async def is_sealed(db: Db) -> bool:
    """Return whether a secret key has been used with this database, which then needs the same one."""
    return await has_table(db, "data_keys") and bool(await db.fetchval("select exists (select from data_keys)"))


async def opens_all(db: Db, secrets: Secrets) -> bool:
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
