"""All SQL of sign-ups that wait for their email address to be verified."""

from datetime import datetime
from uuid import UUID

from openslot.accounts.models import SignUp
from openslot.core.db import Db, Row, count_of

# The first of the two numbers of an advisory lock.
ADDRESSES = 26

COLUMNS = "s.id, s.browser_hash, s.email, s.name, s.zone, s.locale, s.password_hash, s.created_at, s.expires_at"


def to_sign_up(row: Row) -> SignUp:
    """Make a sign-up of a row that has `COLUMNS`."""
    return SignUp(**row)


async def insert_sign_up(db: Db, sign_up: SignUp, *, token_hash: bytes) -> None:
    """Write a sign-up with the hash of its link."""
    statement = """insert into sign_ups
        (id, hash, browser_hash, email, name, zone, locale, password_hash, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"""
    await db.execute(
        statement,
        sign_up.id,
        token_hash,
        sign_up.browser_hash,
        sign_up.email,
        sign_up.name,
        sign_up.zone,
        sign_up.locale,
        sign_up.password_hash,
        sign_up.created_at,
        sign_up.expires_at,
    )


async def find_sign_up(db: Db, token_hash: bytes, *, now: datetime) -> SignUp | None:
    """Look up the sign-up of a link that is still valid."""
    row = await db.fetchrow(f"select {COLUMNS} from sign_ups s where hash = $1 and expires_at > $2", token_hash, now)
    return to_sign_up(row) if row else None


async def find_sign_up_by_id(db: Db, sign_up_id: UUID, *, now: datetime) -> SignUp | None:
    """Look up a sign-up whose link is still valid."""
    row = await db.fetchrow(f"select {COLUMNS} from sign_ups s where id = $1 and expires_at > $2", sign_up_id, now)
    return to_sign_up(row) if row else None


async def lock_address(db: Db, email: str) -> None:
    """Let nobody else open an account with this address before the commit: two links of one address would deadlock."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext(lower($2)))", ADDRESSES, email)


async def lock_sign_up(db: Db, token_hash: bytes, *, now: datetime) -> SignUp | None:
    """Look up the sign-up of a valid link, and keep others from using it until the commit."""
    row = await db.fetchrow(
        f"select {COLUMNS} from sign_ups s where hash = $1 and expires_at > $2 for update", token_hash, now
    )
    return to_sign_up(row) if row else None


async def count_earlier(db: Db, sign_up: SignUp, *, since: datetime) -> int:
    """Count the sign-ups of the same recipient that came before this one."""
    statement = """select count(*) from sign_ups
        where canonical_recipient(email) = canonical_recipient($1) and created_at > $3
          and (created_at, id) < ($4, $2)"""
    count: int = await db.fetchval(statement, sign_up.email, sign_up.id, since, sign_up.created_at)
    return count


async def delete_sign_ups_of(db: Db, email: str) -> None:
    """Remove every sign-up with this address: each of its links becomes invalid."""
    await db.execute("delete from sign_ups where lower(email) = lower($1)", email)


async def delete_expired_sign_ups(db: Db, *, now: datetime, limit: int) -> int:
    """Remove what was typed by people who did not use their link in time."""
    statement = """delete from sign_ups where id = any(array(
            select id from sign_ups where expires_at <= $1 order by expires_at limit $2))"""
    tag = await db.execute(statement, now, limit)
    return count_of(tag)
