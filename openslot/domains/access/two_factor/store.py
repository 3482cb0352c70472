"""All SQL of the second factor: authenticator apps, recovery codes and pending sign-ins."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.access.models import Authenticator, TwoFactorState
from openslot.domains.accounts.store import USER_COLUMNS
from openslot.platform.core.db import Db, Row

# A hash of the password's hash: it tells whether the password is still the same, and nothing else.
PASSWORD_MARK = "sha256(convert_to(coalesce(u.password_hash, ''), 'UTF8'))"  # noqa: S105 - an expression
IS_SAME_PASSWORD = f"p.password_mark = {PASSWORD_MARK}"


async def is_on(db: Db, user_id: UUID) -> bool:
    statement = "select exists (select from authenticators where user_id = $1 and confirmed_at is not null)"
    return bool(await db.fetchval(statement, user_id))


async def find_state(db: Db, user_id: UUID) -> TwoFactorState:
    statement = """select u.password_hash is not null as has_password, a.confirmed_at as on_since,
            (select count(*) from recovery_codes r where r.user_id = u.id and r.used_at is null) as codes_left
        from users u left join authenticators a on a.user_id = u.id where u.id = $1"""
    row = await db.fetchrow(statement, user_id)
    return TwoFactorState(**row) if row else TwoFactorState(has_password=False, on_since=None, codes_left=0)


async def lock_user(db: Db, user_id: UUID) -> None:
    """Let nobody else change a user's second factor or password until the commit."""
    await db.execute("select id from users where id = $1 for no key update", user_id)


async def replace_setup(
    db: Db, authenticator_id: UUID, user_id: UUID, *, secret: bytes, begun_in: UUID | None, now: datetime
) -> bool:
    """Write a secret that is to be confirmed, in place of an unconfirmed one; False if there is a confirmed one."""
    statement = """
        insert into authenticators as a (id, user_id, secret, begun_in, created_at) values ($1, $2, $3, $4, $5)
        on conflict (user_id) do update set secret = excluded.secret, begun_in = excluded.begun_in,
            created_at = excluded.created_at, last_step = 0
        where a.confirmed_at is null returning id"""
    return await db.fetchval(statement, authenticator_id, user_id, secret, begun_in, now) is not None


async def find_setup(db: Db, user_id: UUID, *, begun_in: UUID | None, since: datetime) -> bytes | None:
    statement = """select secret from authenticators
        where user_id = $1 and begun_in = $2 and created_at > $3 and confirmed_at is null"""
    found: bytes | None = await db.fetchval(statement, user_id, begun_in, since)
    return found


async def confirm(db: Db, user_id: UUID, *, secret: bytes, step: int, now: datetime) -> bool:
    """Turn the second factor on; False if the secret is no longer the one whose code was checked."""
    statement = """update authenticators set confirmed_at = $4, last_step = $3, begun_in = null
        where user_id = $1 and secret = $2 and confirmed_at is null returning id"""
    return await db.fetchval(statement, user_id, secret, step, now) is not None


async def find_authenticator(db: Db, user_id: UUID) -> Authenticator | None:
    statement = "select secret, last_step from authenticators where user_id = $1 and confirmed_at is not null"
    row = await db.fetchrow(statement, user_id)
    return Authenticator(**row) if row else None


async def use_step(db: Db, user_id: UUID, step: int) -> bool:
    """Use up a step and all before it; False if it was used up already.

    The row's lock decides between two who bring the same code at the same moment.
    """
    statement = """update authenticators set last_step = $2
        where user_id = $1 and last_step < $2 and confirmed_at is not null returning id"""
    return await db.fetchval(statement, user_id, step) is not None


async def use_recovery_code(db: Db, user_id: UUID, code_hash: bytes, *, now: datetime) -> bool:
    statement = """update recovery_codes set used_at = $3
        where user_id = $1 and hash = $2 and used_at is null
          and exists (select from authenticators where user_id = $1 and confirmed_at is not null) returning user_id"""
    return await db.fetchval(statement, user_id, code_hash, now) is not None


async def count_recovery_codes(db: Db, user_id: UUID) -> int:
    found = await db.fetchval("select count(*) from recovery_codes where user_id = $1 and used_at is null", user_id)
    return int(found)


async def replace_recovery_codes(db: Db, user_id: UUID, hashes: Sequence[bytes], *, now: datetime) -> None:
    await db.execute("delete from recovery_codes where user_id = $1", user_id)
    statement = "insert into recovery_codes (user_id, hash, created_at) select $1, unnest($2::bytea[]), $3"
    await db.execute(statement, user_id, hashes, now)


async def delete_two_factor(db: Db, user_id: UUID) -> bool:
    """Remove a user's app and codes, and end sign-ins that wait for a code; False if no app was confirmed."""
    await db.execute("delete from recovery_codes where user_id = $1", user_id)
    await delete_pending_of(db, user_id)
    statement = "delete from authenticators where user_id = $1 returning confirmed_at is not null"
    return bool(await db.fetchval(statement, user_id))


async def insert_pending(
    db: Db,
    pending_id: UUID,
    user_id: UUID,
    *,
    token_hash: bytes,
    password_hash: str | None,
    now: datetime,
    expires_at: datetime,
) -> bool:
    """Write a sign-in that waits for a code; False if the account is closed or its password is another by now."""
    statement = f"""insert into pending_sign_ins (id, user_id, hash, password_mark, created_at, expires_at)
        select $1, u.id, $3, {PASSWORD_MARK}, $5, $6
        from users u where u.id = $2 and u.disabled_at is null and u.password_hash is not distinct from $4
        returning id"""
    return await db.fetchval(statement, pending_id, user_id, token_hash, password_hash, now, expires_at) is not None


async def find_pending_sign_in(db: Db, token_hash: bytes, *, now: datetime) -> Row | None:
    """Look up a pending sign-in, its user and the password that it was begun with, if all of them still hold."""
    statement = f"""select {USER_COLUMNS}, u.password_hash from pending_sign_ins p join users u on u.id = p.user_id
        where p.hash = $1 and p.expires_at > $2 and u.disabled_at is null
          and {IS_SAME_PASSWORD}"""
    return await db.fetchrow(statement, token_hash, now)


async def use_pending_sign_in(db: Db, token_hash: bytes, *, now: datetime) -> bool:
    """Use up a pending sign-in; False if somebody else has, or the password is another by now."""
    statement = f"""delete from pending_sign_ins p using users u
        where p.hash = $1 and p.expires_at > $2 and u.id = p.user_id and {IS_SAME_PASSWORD} returning p.id"""
    return await db.fetchval(statement, token_hash, now) is not None


async def delete_pending_of(db: Db, user_id: UUID) -> None:
    await db.execute("delete from pending_sign_ins where user_id = $1", user_id)
