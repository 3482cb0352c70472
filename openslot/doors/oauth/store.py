"""All SQL of assistants: programs, codes, connections and refresh tokens; only hashes of what was issued."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from openslot.domains.access.models import AsksFirst
from openslot.domains.accounts.models import AssistantPolicy
from openslot.domains.accounts.organizations.store import ASSISTANT_POLICIES
from openslot.doors.oauth.models import (
    AssistantClient,
    AssistantGrant,
    AuthorizationCode,
    ListedClient,
    RefreshAttempt,
)
from openslot.platform.core.db import Db, count_of
from openslot.platform.core.rows import Rows

CLIENTS = Rows(AssistantClient, "assistant_clients c")
CODES = Rows(AuthorizationCode, "assistant_codes d")
# When a connection was last used is in its limit's log until it is saved, as for every credential.
LAST_USED = """greatest(g.last_used_at, (select date_trunc('minute', to_timestamp(r.stamps[cardinality(r.stamps)]
    / 1000000.0)) from rate_log r where r.bucket = 'assistant:' || g.id))"""
GRANTS = Rows(AssistantGrant, "assistant_grants g", computed={"last_used_at": LAST_USED})
UPSERT_CLIENT = f"""{CLIENTS.insert()}
on conflict (id) do update set name = excluded.name, redirect_uris = excluded.redirect_uris,
    expires_at = excluded.expires_at"""
# The user's row is locked against being disabled, and so is what would be issued to somebody who no longer has access.
INSERT_GRANT = f"""insert into assistant_grants ({GRANTS.stored.columns}, hash)
select {GRANTS.stored.parameters()}, ${len(GRANTS.stored.names) + 1} from (
    select from users where id = $2 and disabled_at is null for share) u
returning (select email from users where id = $2)"""
RUNNING = "g.revoked_at is null and g.ends_at >"


async def find_client(db: Db, client_id: str) -> AssistantClient | None:
    row = await db.fetchrow(f"select {CLIENTS.columns} from assistant_clients c where c.id = $1", client_id)
    return CLIENTS.read(row) if row else None


async def upsert_client(db: Db, client: AssistantClient) -> None:
    await db.execute(UPSERT_CLIENT, *CLIENTS.values(client))


async def count_registered(db: Db, *, at_most: int) -> int:
    statement = """select count(*) from (
        select from assistant_clients where origin = 'registered' limit $1) c"""
    return int(await db.fetchval(statement, at_most))


async def delete_oldest_unused(db: Db, *, now: datetime) -> bool:
    """Forget the program that has registered first of those that nobody has connected now; False if there is none."""
    # In the order of the index: who was connected once is kept for longer, and comes last.
    statement = f"""delete from assistant_clients where id = (
            select c.id from assistant_clients c where c.origin = 'registered' and not exists (
                select from assistant_grants g where g.client_id = c.id and {RUNNING} $1)
            order by c.expires_at, c.id limit 1 for update skip locked)"""
    return count_of(await db.execute(statement, now)) == 1


async def keep_client(db: Db, client_id: str, *, until: datetime) -> None:
    """Keep the registration of a program that somebody has connected."""
    statement = """update assistant_clients set expires_at = $2
        where id = $1 and origin = 'registered' and expires_at < $2"""
    await db.execute(statement, client_id, until)


async def list_clients(db: Db, *, now: datetime, limit: int) -> list[ListedClient]:
    statement = f"""select {CLIENTS.columns}, (
            select count(*) from assistant_grants g where g.client_id = c.id and {RUNNING} $1) as connections
        from assistant_clients c order by c.created_at desc, c.id limit $2"""
    rows = await db.fetch(statement, now, limit)
    return [ListedClient(client=CLIENTS.read(row), connections=row["connections"]) for row in rows]


async def delete_client(db: Db, client_id: str) -> bool:
    return count_of(await db.execute("delete from assistant_clients where id = $1", client_id)) == 1


async def delete_unused_clients(db: Db, *, before: datetime, limit: int) -> int:
    """Forget programs whose time has passed and that nobody has connected now."""
    statement = f"""delete from assistant_clients where id = any(array(
            select c.id from assistant_clients c where c.expires_at <= $1 and not exists (
                select from assistant_grants g where g.client_id = c.id and {RUNNING} $1)
            order by c.expires_at limit $2))"""
    return count_of(await db.execute(statement, before, limit))


async def list_policies(db: Db, user_id: UUID) -> list[AssistantPolicy]:
    """List what the organizations of a user say about assistants."""
    found = await db.fetchval(f"select {ASSISTANT_POLICIES} from users u where u.id = $1", user_id)
    return [AssistantPolicy(each) for each in found or ()]


async def insert_code(db: Db, code: AuthorizationCode, *, code_hash: bytes) -> None:
    await db.execute(CODES.insert("hash"), *CODES.values(code), code_hash)


async def use_code(db: Db, code_hash: bytes, *, grant_id: UUID, now: datetime) -> AuthorizationCode | None:
    """Take a code, once; of two that come at once, one waits for the other and finds it used."""
    statement = f"""update assistant_codes d set used_at = $3, grant_id = $2
        where hash = $1 and used_at is null and expires_at > $3 returning {CODES.columns}"""
    row = await db.fetchrow(statement, code_hash, grant_id, now)
    return CODES.read(row) if row else None


async def find_used_code(db: Db, code_hash: bytes) -> UUID | None:
    """Return the connection that a code was exchanged for."""
    statement = "select grant_id from assistant_codes where hash = $1 and used_at is not null"
    found: UUID | None = await db.fetchval(statement, code_hash)
    return found


async def insert_grant(db: Db, grant: AssistantGrant, *, access_hash: bytes) -> str | None:
    """Write a connection and return the address of its user; None if the account is closed."""
    email: str | None = await db.fetchval(INSERT_GRANT, *GRANTS.values(grant), access_hash)
    return email


async def insert_refresh_token(
    db: Db, token_id: UUID, grant_id: UUID, *, token_hash: bytes, now: datetime, expires_at: datetime
) -> None:
    statement = """insert into assistant_refresh_tokens (id, hash, grant_id, created_at, expires_at)
        values ($1, $2, $3, $4, $5)"""
    await db.execute(statement, token_id, token_hash, grant_id, now, expires_at)


async def find_refresh(db: Db, token_hash: bytes) -> RefreshAttempt | None:
    statement = f"""select {GRANTS.columns}, u.email, u.disabled_at is null as is_open,
            t.expires_at as token_expires_at, t.used_at is not null as is_used
        from assistant_refresh_tokens t join assistant_grants g on g.id = t.grant_id join users u on u.id = g.user_id
        where t.hash = $1"""
    row = await db.fetchrow(statement, token_hash)
    if row is None:
        return None
    return RefreshAttempt(
        grant=GRANTS.read(row),
        email=row["email"],
        expires_at=row["token_expires_at"],
        is_used=row["is_used"],
        is_open=row["is_open"],
    )


async def use_refresh(db: Db, token_hash: bytes, *, now: datetime) -> bool:
    """Take a refresh token, once; of two that come at once, one waits for the other and finds it used."""
    statement = "update assistant_refresh_tokens set used_at = $2 where hash = $1 and used_at is null"
    return count_of(await db.execute(statement, token_hash, now)) == 1


async def renew_grant(db: Db, grant_id: UUID, *, access_hash: bytes, expires_at: datetime, ends_at: datetime) -> bool:
    """Give a connection another access token; the one before is refused from now on."""
    statement = """update assistant_grants set hash = $2, expires_at = $3, ends_at = $4
        where id = $1 and revoked_at is null"""
    return count_of(await db.execute(statement, grant_id, access_hash, expires_at, ends_at)) == 1


async def find_grant_by_token(db: Db, token_hash: bytes) -> AssistantGrant | None:
    """Find the connection of an access or refresh token, used or not."""
    statement = f"""select {GRANTS.columns} from assistant_grants g
        where g.hash = $1 or g.id = (select t.grant_id from assistant_refresh_tokens t where t.hash = $1)"""
    row = await db.fetchrow(statement, token_hash)
    return GRANTS.read(row) if row else None


async def find_asks_first(db: Db, user_id: UUID, client_id: str) -> AsksFirst:
    """Find what a user has chosen for the same program before: connecting it again changes nothing of that."""
    statement = """select asks_first from assistant_grants where user_id = $1 and client_id = $2
        order by id desc limit 1"""
    return AsksFirst(await db.fetchval(statement, user_id, client_id) or AsksFirst.NEVER)


async def change_asks_first(db: Db, user_id: UUID, grant_id: UUID, asks_first: AsksFirst) -> None:
    """Change when an assistant asks, in all connections of the same program."""
    statement = """update assistant_grants set asks_first = $3
        where user_id = $1 and client_id = (select client_id from assistant_grants where id = $2 and user_id = $1)"""
    await db.execute(statement, user_id, grant_id, asks_first)


async def list_grants(db: Db, user_id: UUID, *, now: datetime) -> list[AssistantGrant]:
    statement = f"""select {GRANTS.columns} from assistant_grants g
        where g.user_id = $1 and {RUNNING} $2 order by g.id desc"""
    return [GRANTS.read(row) for row in await db.fetch(statement, user_id, now)]


async def find_grant(db: Db, user_id: UUID, grant_id: UUID) -> AssistantGrant | None:
    statement = f"select {GRANTS.columns} from assistant_grants g where g.user_id = $1 and g.id = $2"
    row = await db.fetchrow(statement, user_id, grant_id)
    return GRANTS.read(row) if row else None


async def revoke_grant(db: Db, grant_id: UUID, *, now: datetime) -> tuple[AssistantGrant, str] | None:
    """End a connection and return it with its user's address; None if it had ended before."""
    statement = f"""update assistant_grants g set revoked_at = $2 from users u
        where g.id = $1 and g.revoked_at is null and u.id = g.user_id returning {GRANTS.columns}, u.email"""
    row = await db.fetchrow(statement, grant_id, now)
    return (GRANTS.read(row), row["email"]) if row else None


async def list_grants_of_client(db: Db, client_id: str, *, now: datetime) -> Sequence[UUID]:
    statement = f"select g.id from assistant_grants g where g.client_id = $1 and {RUNNING} $2 order by g.id"
    return [row["id"] for row in await db.fetch(statement, client_id, now)]


async def expire_of_grant(db: Db, grant_id: UUID, *, now: datetime) -> None:
    """Close what an assistant still waits for that is no longer connected."""
    statement = """update assistant_approvals set status = 'expired', decided_at = $2, arguments = null
        where grant_id = $1 and status = 'pending'"""
    await db.execute(statement, grant_id, now)
