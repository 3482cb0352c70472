"""All SQL of stored answers."""

from datetime import datetime

from openslot.core.db import Db, Row, count_of


async def try_lock(db: Db, lock: int) -> bool:
    """Take the lock of a request until the commit; False if another transaction holds it."""
    return bool(await db.fetchval("select pg_try_advisory_xact_lock($1)", lock))


async def find_row(db: Db, *, scope: bytes, key: str, since: datetime) -> Row | None:
    """Look up the answer that was stored under a key since then."""
    statement = """select request_hash, sealed, status, headers, body from idempotency
        where scope = $1 and key = $2 and created_at > $3"""
    return await db.fetchrow(statement, scope, key, since)


async def save_row(db: Db, *, scope: bytes, key: str, request_hash: bytes, sealed: bytes, now: datetime) -> None:
    """Write an answer, in place of an expired one."""
    statement = """insert into idempotency as i (scope, key, request_hash, sealed, created_at, status, headers, body)
        values ($1, $2, $3, $4, $5, 0, '{}', '')
        on conflict (scope, key) do update set request_hash = excluded.request_hash, sealed = excluded.sealed,
            created_at = excluded.created_at, status = 0, headers = '{}', body = ''"""
    await db.execute(statement, scope, key, request_hash, sealed, now)


async def delete_rows(db: Db, *, before: datetime, limit: int) -> int:
    """Remove the oldest answers from before a given time."""
    statement = """delete from idempotency where created_at <= $1 and ctid = any(array(
            select ctid from idempotency where created_at <= $1 order by created_at limit $2))"""
    tag = await db.execute(statement, before, limit)
    return count_of(tag)
