"""All SQL of credentials, sessions and kept answers."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.access.models import Credential, CredentialKind, Session
from openslot.domains.accounts.members.store import MEMBER_USER_COLUMNS, OWN_MEMBERSHIPS
from openslot.platform.core.db import Db, Row, count_of

# Where each kind is kept, and which column names its owner.
TABLES = {
    CredentialKind.API_KEY: ("api_keys", "user_id"),
    CredentialKind.SCIM_TOKEN: ("scim_tokens", "organization_id"),
    CredentialKind.AGENT_KEY: ("agent_keys", "agent"),
    # The access token of a connection is replaced each time it is refreshed, the connection stays.
    CredentialKind.ASSISTANT_TOKEN: ("assistant_grants", "user_id"),
}
# A credential's limit is counted in a log of its own, whose last stamp tells when it was last used.
BUCKETS = {
    CredentialKind.API_KEY: "key:",
    CredentialKind.SCIM_TOKEN: "scim:",
    CredentialKind.AGENT_KEY: "agent:",
    CredentialKind.ASSISTANT_TOKEN: "assistant:",
}
LAST_STAMP = "date_trunc('minute', to_timestamp(r.stamps[cardinality(r.stamps)] / 1000000.0))"
# A host with more event types has the same colors twice anyway.
MAX_COLORED = 60
TAKES_PAYMENTS = """(exists (select from payments p where p.host_id = u.id)
        or exists (select from payment_connections c where c.user_id = u.id and c.disconnected_at is null)
        or exists (select from memberships o join payment_connections c on c.organization_id = o.organization_id
                   where o.user_id = u.id and o.active and c.disconnected_at is null))"""
HAS_NUMBER = """(exists (select from messaging_connections c where c.user_id = u.id and c.disconnected_at is null)
        or exists (select from memberships o join messaging_connections c on c.organization_id = o.organization_id
                   where o.user_id = u.id and o.active and c.disconnected_at is null))"""
# Counted up to 100: the navigation shows no more.
UNREAD_THREADS = """(select count(*) from (
        select from conversations c where c.owner_id = u.id and c.last_inbound_at > coalesce(c.read_at, '-infinity')
        limit 100) n)"""
COLUMNS = f"""k.id, k.name, k.last_four, k.created_at, k.expires_at, k.revoked_at,
    greatest(k.last_used_at, {LAST_STAMP}) as last_used_at"""


async def keep_uses(db: Db, kind: CredentialKind, *, behind: str, limit: int) -> tuple[int, str | None]:
    """Save from so many logs after a name when credentials were last used, to the minute; return the last name."""
    prefix = BUCKETS[kind]
    statement = f"""with looked_at as (
            select r.bucket, {LAST_STAMP} as used_at from rate_log r
            where r.bucket > greatest($1, $2) and r.bucket < $3 order by r.bucket limit $4
        ), kept as (
            update {TABLES[kind][0]} k set last_used_at = l.used_at from looked_at l
            where k.id = substr(l.bucket, length($1) + 1)::uuid and k.last_used_at is distinct from l.used_at
            returning k.id
        )
        select count(*) as looked_at, max(bucket) as last, (select count(*) from kept) as kept from looked_at"""
    # The first name that sorts after all names with this prefix.
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    row = await db.fetchrow(statement, prefix, behind, end, limit)
    assert row is not None  # noqa: S101 - an aggregate
    return row["kept"], row["last"] if row["looked_at"] == limit else None


async def insert_credential(
    db: Db, kind: CredentialKind, owner: UUID | str, credential: Credential, *, key_hash: bytes
) -> None:
    table, owner_column = TABLES[kind]
    statement = f"""insert into {table} (id, {owner_column}, name, hash, last_four, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7)"""
    await db.execute(
        statement,
        credential.id,
        owner,
        credential.name,
        key_hash,
        credential.last_four,
        credential.created_at,
        credential.expires_at,
    )


async def give_default_scopes(db: Db, agent: str, key_id: UUID) -> None:
    """Give a new key the scopes that its agent has now; a change of these waits for it and finds the key."""
    statement = """with g as (select scopes from agents where slug = $2 for share)
        update agent_keys k set scopes = g.scopes from g where k.id = $1"""
    await db.execute(statement, key_id, agent)


async def set_key_scopes(db: Db, agent: str, scopes: list[str], *, now: datetime) -> int:
    statement = """update agent_keys set scopes = $2
        where agent = $1 and revoked_at is null and (expires_at is null or expires_at > $3)"""
    return count_of(await db.execute(statement, agent, scopes, now))


async def list_credentials(db: Db, kind: CredentialKind, owner: UUID | str) -> list[Credential]:
    table, owner_column = TABLES[kind]
    statement = f"""select {COLUMNS} from {table} k left join rate_log r on r.bucket = $2 || k.id
        where k.{owner_column} = $1 order by k.id desc"""
    return [Credential(**row) for row in await db.fetch(statement, owner, BUCKETS[kind])]


async def revoke_credential(
    db: Db, kind: CredentialKind, owner: UUID | str, credential_id: UUID, *, now: datetime
) -> bool:
    table, owner_column = TABLES[kind]
    statement = f"""update {table} set revoked_at = coalesce(revoked_at, $3)
        where id = $1 and {owner_column} = $2 returning id"""
    return await db.fetchval(statement, credential_id, owner, now) is not None


async def replace_credential(
    db: Db, kind: CredentialKind, owner: UUID | str, credential_id: UUID, *, by: UUID, at: datetime
) -> bool:
    """Let an owner's credential expire at a time, or earlier if it does so anyway; False if it was replaced."""
    table, owner_column = TABLES[kind]
    statement = f"""update {table} set expires_at = least(expires_at, $3), replaced_by = $4
        where id = $1 and {owner_column} = $2 and replaced_by is null returning id"""
    return await db.fetchval(statement, credential_id, owner, at, by) is not None


async def insert_session(
    db: Db,
    session_id: UUID,
    user_id: UUID,
    *,
    token_hash: bytes,
    password_hash: str | None,
    is_verified: bool,
    user_agent: str,
    now: datetime,
    expires_at: datetime,
) -> bool:
    """Write a session's hash; False if the account is closed, or has another password than the one that was checked.

    It is also False if the account has a second factor that was not verified.

    The user's row is locked against a change of its password: one that waits for it will find this session and end it,
    and one that came first is seen here.
    """
    statement = """insert into sessions (id, user_id, hash, created_at, expires_at, user_agent)
        select $1, u.id, $3, $4, $5, $6 from (
            select id from users
            where id = $2 and disabled_at is null and ($7::text is null or password_hash = $7)
              and ($8 or not exists (select from authenticators where user_id = $2 and confirmed_at is not null))
            for share) u
        returning id"""
    made = await db.fetchval(
        statement, session_id, user_id, token_hash, now, expires_at, user_agent, password_hash, is_verified
    )
    return made is not None


async def find_session(db: Db, token_hash: bytes, *, now: datetime) -> Row | None:
    statement = f"""select s.id as session_id, coalesce(s.last_seen_at, s.created_at) as seen_at, {MEMBER_USER_COLUMNS},
        case when u.is_admin then
            (select count(*) from approvals a where a.status = 'pending' and a.expires_at > $2)
        else 0 end as waiting_approvals,
        (select count(*) from assistant_approvals q
         where q.user_id = u.id and q.status = 'pending' and q.expires_at > $2) as waiting_requests,
        array(select w.channel from switches w where w.stopped_at is not null order by w.channel) as stopped_channels,
        array(select e.id || e.color from event_types e where e.owner_id = u.id
              order by e.active desc, e.id limit {MAX_COLORED}) as event_colors,
        {TAKES_PAYMENTS} as takes_payments, {HAS_NUMBER} as has_number,
        {UNREAD_THREADS} as unread_threads
        from sessions s join users u on u.id = s.user_id {OWN_MEMBERSHIPS}
        where s.hash = $1 and s.expires_at > $2 and u.disabled_at is null"""
    return await db.fetchrow(statement, token_hash, now)


async def delete_session(db: Db, session_id: UUID) -> None:
    await db.execute("delete from sessions where id = $1", session_id)


async def delete_sessions_of(db: Db, user_id: UUID) -> set[UUID]:
    return {row["id"] for row in await db.fetch("delete from sessions where user_id = $1 returning id", user_id)}


async def delete_expired_setup_links(db: Db, *, now: datetime) -> None:
    """Remove set-up links that nobody can use any more; there are never many."""
    await db.execute("delete from setup_links where expires_at <= $1", now)


async def insert_setup_link(db: Db, token_hash: bytes, *, now: datetime, expires_at: datetime) -> None:
    await db.execute("delete from setup_links")
    statement = "insert into setup_links (hash, created_at, expires_at) values ($1, $2, $3)"
    await db.execute(statement, token_hash, now, expires_at)


async def has_setup_link(db: Db, token_hash: bytes, *, now: datetime) -> bool:
    statement = "select 1 from setup_links where hash = $1 and expires_at > $2"
    return await db.fetchval(statement, token_hash, now) is not None


async def use_setup_link(db: Db, token_hash: bytes, *, now: datetime) -> bool:
    statement = "delete from setup_links where hash = $1 and expires_at > $2 returning 1"
    return await db.fetchval(statement, token_hash, now) is not None


async def list_sessions(db: Db, user_id: UUID, *, this: UUID | None, now: datetime, limit: int) -> list[Session]:
    statement = """select id, user_agent, created_at, last_seen_at from sessions where user_id = $1 and expires_at > $2
        order by id is not distinct from $4 desc, coalesce(last_seen_at, created_at) desc, id desc limit $3"""
    return [Session(**row) for row in await db.fetch(statement, user_id, now, limit, this)]


async def delete_own_session(db: Db, user_id: UUID, session_id: UUID) -> bool:
    statement = "delete from sessions where id = $1 and user_id = $2 returning id"
    return await db.fetchval(statement, session_id, user_id) is not None


async def delete_other_sessions(db: Db, user_id: UUID, *, kept: UUID) -> int:
    return count_of(await db.execute("delete from sessions where user_id = $1 and id <> $2", user_id, kept))


async def note_seen(db: Db, session_ids: Sequence[UUID], *, hour: datetime) -> None:
    """Write the hour in which sessions were used; a session that is being ended right now is left out."""
    statement = """update sessions set last_seen_at = $2 where id = any(array(
            select id from sessions where id = any($1) and coalesce(last_seen_at, created_at) < $2
            order by id for update skip locked))"""
    await db.execute(statement, session_ids, hour)


async def try_lock(db: Db, lock: int) -> bool:
    """Take the lock of a request until the commit; False if another transaction holds it."""
    return bool(await db.fetchval("select pg_try_advisory_xact_lock($1)", lock))


async def find_answer(db: Db, *, scope: bytes, key: str, since: datetime) -> Row | None:
    statement = "select request_hash, sealed from idempotency where scope = $1 and key = $2 and created_at > $3"
    return await db.fetchrow(statement, scope, key, since)


async def save_answer(db: Db, *, scope: bytes, key: str, request_hash: bytes, sealed: bytes, now: datetime) -> None:
    statement = """insert into idempotency (scope, key, request_hash, sealed, created_at) values ($1, $2, $3, $4, $5)
        on conflict (scope, key) do update set request_hash = excluded.request_hash, sealed = excluded.sealed,
            created_at = excluded.created_at"""
    await db.execute(statement, scope, key, request_hash, sealed, now)


async def delete_answer(db: Db, *, scope: bytes, key: str) -> None:
    await db.execute("delete from idempotency where scope = $1 and key = $2", scope, key)


async def delete_old_answers(db: Db, *, before: datetime, limit: int) -> int:
    statement = """delete from idempotency where created_at <= $1 and ctid = any(array(
            select ctid from idempotency where created_at <= $1 order by created_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))
