"""All SQL of links and codes in mails: to choose a new password, to confirm a new address, to prove one."""

from datetime import datetime
from uuid import UUID

from openslot.domains.access.models import AddressChange, EmailCode
from openslot.domains.accounts.models import User
from openslot.domains.accounts.store import USER_COLUMNS, to_user
from openslot.platform.core.db import Db
from openslot.platform.core.rows import Rows

# The first of the two numbers of an advisory lock.
RECIPIENTS = 28

DIGEST = "sha256(convert_to(u.password_hash, 'UTF8'))"
VALID = f"""r.hash = $1 and r.expires_at > $2 and u.disabled_at is null and lower(u.email) = lower(r.email)
    and r.password_digest is not distinct from {DIGEST}"""


async def count_resets(db: Db, user: User, *, but: UUID, now: datetime) -> tuple[int, int]:
    """Count the links that a recipient was sent within an hour and a day, for any account; locks make it exact."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext(canonical_recipient($2)))", RECIPIENTS, user.email)
    await db.execute("select 1 from users where id = $1 for update", user.id)
    statement = """select count(*) filter (where created_at > $3::timestamptz - interval '1 hour') as in_an_hour,
            count(*) as in_a_day
        from password_resets
        where (user_id = $1 or canonical_recipient(email) = canonical_recipient($4)) and id <> $2
          and created_at > $3::timestamptz - interval '1 day'"""
    row = await db.fetchrow(statement, user.id, but, now, user.email)
    return (row["in_an_hour"], row["in_a_day"]) if row else (0, 0)


async def insert_reset(
    db: Db, reset_id: UUID, user: User, *, token_hash: bytes, now: datetime, expires_at: datetime
) -> None:
    """Write a link's hash, with the address and the password that it is bound to; a second try finds the first."""
    statement = f"""insert into password_resets (id, user_id, hash, email, password_digest, created_at, expires_at)
        select $1, u.id, $3, u.email, {DIGEST}, $4, $5 from users u where u.id = $2
        on conflict (id) do nothing"""
    await db.execute(statement, reset_id, user.id, token_hash, now, expires_at)


async def find_reset(db: Db, token_hash: bytes, *, now: datetime) -> User | None:
    statement = f"select {USER_COLUMNS} from password_resets r join users u on u.id = r.user_id where {VALID}"
    row = await db.fetchrow(statement, token_hash, now)
    return to_user(row, now=now) if row else None


async def lock_reset(db: Db, token_hash: bytes) -> None:
    """Wait for other changes of the user's row: what is read afterwards holds until the commit."""
    statement = "select 1 from users where id = (select user_id from password_resets where hash = $1) for update"
    await db.execute(statement, token_hash)


async def delete_resets_of(db: Db, user_id: UUID) -> None:
    await db.execute("delete from password_resets where user_id = $1", user_id)


CHANGES = Rows(AddressChange, "address_changes c")
OPEN = f"""address_changes c join users u on u.id = c.user_id
where c.ended_at is null and c.expires_at > $2 and u.disabled_at is null
    and lower(u.email) = lower(c.previous_email) and c.password_digest = {DIGEST}"""


async def count_recent(db: Db, user_id: UUID, *, now: datetime) -> tuple[int, int]:
    """Count what a user has asked for within an hour and within a day; the user's row is locked."""
    await db.execute("select id from users where id = $1 for no key update", user_id)
    statement = """select count(*) filter (where created_at > $2::timestamptz - interval '1 hour') as in_an_hour,
            count(*) as in_a_day
        from address_changes where user_id = $1 and created_at > $2::timestamptz - interval '1 day'"""
    row = await db.fetchrow(statement, user_id, now)
    return (row["in_an_hour"], row["in_a_day"]) if row else (0, 0)


async def insert_change(
    db: Db, change: AddressChange, user: User, *, token_hash: bytes, password_hash: str, now: datetime
) -> bool:
    """Write what a user has asked for; False if the password is no longer the one that was checked."""
    statement = f"""insert into address_changes
            (id, user_id, hash, email, previous_email, password_digest, created_at, expires_at)
        select $1, u.id, $3, $4, u.email, {DIGEST}, $5, $6 from users u
        where u.id = $2 and u.password_hash = $7 and lower(u.email) = lower($8) returning id"""
    made = await db.fetchval(
        statement, change.id, user.id, token_hash, change.email, now, change.expires_at, password_hash, user.email
    )
    return made is not None


async def find_change(db: Db, change_id: UUID, *, now: datetime) -> AddressChange | None:
    return await _find_change(db, "c.id = $1", change_id, now)


async def find_change_of(db: Db, user_id: UUID, *, now: datetime) -> AddressChange | None:
    return await _find_change(db, "c.user_id = $1", user_id, now)


async def find_change_by_link(db: Db, token_hash: bytes, user_id: UUID, *, now: datetime) -> AddressChange | None:
    return await _find_change(db, "c.hash = $1 and c.user_id = $3", token_hash, now, user_id)


async def _find_change(db: Db, condition: str, *args: object) -> AddressChange | None:
    row = await db.fetchrow(f"select {CHANGES.columns} from {OPEN} and {condition}", *args)
    return CHANGES.read(row) if row else None


async def end_changes(db: Db, user_id: UUID, *, now: datetime) -> None:
    await db.execute("update address_changes set ended_at = $2 where user_id = $1 and ended_at is null", user_id, now)


CODES = Rows(EmailCode, "email_codes")
USABLE = "used_at is null and expires_at > $2"


async def list_sent(
    db: Db, email: str, event_type_id: UUID, asked_by: bytes, *, since: datetime
) -> list[tuple[datetime, bool]]:
    """List when a recipient was sent codes, newest first, and which were for one event type and network.

    A lock makes it exact.
    """
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext(canonical_recipient($2)))", RECIPIENTS, email)
    statement = """select created_at, event_type_id = $2 and asked_by is not distinct from $3 as is_alike
        from email_codes where canonical_recipient(email) = canonical_recipient($1) and created_at > $4
        order by created_at desc"""
    rows = await db.fetch(statement, email, event_type_id, asked_by, since)
    return [(row["created_at"], row["is_alike"]) for row in rows]


async def insert_code(db: Db, code: EmailCode, *, hashed: bytes, asked_by: bytes, now: datetime) -> None:
    statement = CODES.insert("hash", "asked_by", "created_at")
    await db.execute(statement, *CODES.values(code), hashed, asked_by, now)


async def lock_codes(
    db: Db, event_type_id: UUID, email: str, asked_by: bytes, *, now: datetime, max_tries: int
) -> list[tuple[EmailCode, bytes]]:
    """List the codes of an address that a network can try, with their hashes; nobody else can until the commit."""
    statement = f"""select {CODES.columns}, hash from email_codes
        where event_type_id = $1 and lower(email) = lower($3) and {USABLE}
          and case when asked_by = $5 then wrong_tries else wrong_tries_of_others end < $4
        order by id for update"""
    rows = await db.fetch(statement, event_type_id, now, email, max_tries, asked_by)
    return [(CODES.read(row), row["hash"]) for row in rows]


async def count_wrong_try(db: Db, code_ids: list[UUID], asked_by: bytes) -> None:
    """Count a wrong try of a network for some codes, apart for those that another one has asked for."""
    statement = """update email_codes set wrong_tries = wrong_tries + (asked_by is not distinct from $2)::int,
            wrong_tries_of_others = wrong_tries_of_others + (asked_by is distinct from $2)::int
        where id = any($1)"""
    await db.execute(statement, code_ids, asked_by)


async def use_code(db: Db, code_id: UUID, event_type_id: UUID, email: str, *, now: datetime) -> bool:
    """Use a code up; False if it was used, even by somebody who has not committed yet, or has expired."""
    statement = f"""update email_codes set used_at = $2
        where id = $1 and event_type_id = $3 and lower(email) = lower($4) and {USABLE} returning id"""
    return await db.fetchval(statement, code_id, now, event_type_id, email) is not None


async def find_code(db: Db, code_id: UUID, *, now: datetime) -> EmailCode | None:
    row = await db.fetchrow(f"select {CODES.columns} from email_codes where id = $1 and {USABLE}", code_id, now)
    return CODES.read(row) if row else None
