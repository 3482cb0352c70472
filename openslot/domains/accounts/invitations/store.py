"""All SQL of invitations and sign-ups."""

from datetime import datetime
from uuid import UUID

from openslot.domains.accounts.models import Invitation, InvitationLimit, SignUp
from openslot.domains.accounts.store import USER_COLUMNS, to_user
from openslot.platform.core.db import Db
from openslot.platform.core.rows import Rows

INVITATIONS = Rows(
    Invitation,
    "invitations i",
    prefix="invitation_",
    computed={"organization_name": "o.name", "has_password": "u.password_hash is not null"},
    given=["user"],
)
# The first of the two numbers of an advisory lock.
RECIPIENTS = 27
RECIPIENT = "sha256(convert_to(canonical_recipient($2), 'UTF8'))"
OWN_DOMAIN = """exists (select from domains d where d.organization_id = $1 and d.verified_at is not null
    and d.domain = split_part(lower($2), '@', 2))"""
COUNTED_BY_ORGANIZATION = f"organization_id = $1 and not own_domain and not {OWN_DOMAIN}"
COUNTED_BY_RECIPIENT = f"recipient = {RECIPIENT} and (organization_id = $1 or not {OWN_DOMAIN})"


async def replace_invitation(
    db: Db,
    invitation_id: UUID,
    organization_id: UUID,
    user_id: UUID,
    *,
    token_hash: bytes,
    now: datetime,
    expires_at: datetime,
) -> None:
    """Keep only the newest invitation of a user to an organization."""
    statement = """insert into invitations (id, organization_id, user_id, hash, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (organization_id, user_id) do update set id = excluded.id, hash = excluded.hash,
            created_at = excluded.created_at, expires_at = excluded.expires_at, used_at = null"""
    await db.execute(statement, invitation_id, organization_id, user_id, token_hash, now, expires_at)


async def find_invitation(db: Db, token_hash: bytes, *, now: datetime) -> Invitation | None:
    """Look up an invitation that is neither used nor expired, of a member who may sign in."""
    statement = f"""
        select {USER_COLUMNS}, {INVITATIONS.columns}
        from invitations i join users u on u.id = i.user_id join organizations o on o.id = i.organization_id
        join memberships n on n.organization_id = i.organization_id and n.user_id = i.user_id
        where i.hash = $1 and i.used_at is null and i.expires_at > $2 and u.disabled_at is null"""
    row = await db.fetchrow(statement, token_hash, now)
    return INVITATIONS.read(row, user=to_user(row, now=now)) if row else None


async def use_invitation(db: Db, invitation_id: UUID, *, now: datetime) -> bool:
    statement = "update invitations set used_at = $2 where id = $1 and used_at is null and expires_at > $2 returning id"
    return await db.fetchval(statement, invitation_id, now) is not None


async def lock_invitation(db: Db, organization_id: UUID, user_id: UUID) -> datetime | None:
    """Keep an invitation from being used until the commit, and return when it was made; None if there is none."""
    statement = "select created_at from invitations where organization_id = $1 and user_id = $2 for update"
    made_at: datetime | None = await db.fetchval(statement, organization_id, user_id)
    return made_at


async def delete_invitation(db: Db, organization_id: UUID, user_id: UUID) -> None:
    await db.execute("delete from invitations where organization_id = $1 and user_id = $2", organization_id, user_id)


async def delete_open_invitations(db: Db, user_id: UUID) -> None:
    """Make every link of a user that was not used yet invalid, whichever organization has sent it."""
    await db.execute("delete from invitations where user_id = $1 and used_at is null", user_id)


async def lock_recipient(db: Db, email: str) -> None:
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext(canonical_recipient($2)))", RECIPIENTS, email)


async def insert_sent(db: Db, organization_id: UUID, email: str, *, now: datetime) -> None:
    """Count an invitation, for as long as it matters, whatever becomes of it."""
    statement = f"""insert into sent_invitations (organization_id, recipient, own_domain, at)
        select $1, {RECIPIENT}, {OWN_DOMAIN}, $3"""
    await db.execute(statement, organization_id, email, now)


async def find_sent(
    db: Db, organization_id: UUID, email: str, *, nth: int, since: datetime, by_organization: bool
) -> datetime | None:
    """Return when the n-th newest invitation was sent; None if there are fewer since then.

    An organization's invitations to its own domain count only by recipient, and invitations of others to that domain
    do not count for it: so strangers can't use up what it may send to its own people.
    """
    counted = COUNTED_BY_ORGANIZATION if by_organization else COUNTED_BY_RECIPIENT
    statement = f"select at from sent_invitations where {counted} and at > $4 order by at desc offset $3 limit 1"
    sent_at: datetime | None = await db.fetchval(statement, organization_id, email, nth - 1, since)
    return sent_at


async def set_refused(db: Db, organization_id: UUID, user_id: UUID, limit: InvitationLimit | None) -> None:
    """Write which limit has kept a member's invitation from being sent; None if it was sent."""
    statement = """update member_profiles p set invitation_refused = $3 from memberships m
        where m.organization_id = $1 and m.user_id = $2 and p.member_id = m.id
          and p.invitation_refused is distinct from $3"""
    await db.execute(statement, organization_id, user_id, limit)


# The first of the two numbers of an advisory lock.
ADDRESSES = 26

SIGN_UPS = Rows(SignUp, "sign_ups")


async def insert_sign_up(db: Db, sign_up: SignUp, *, token_hash: bytes) -> None:
    await db.execute(SIGN_UPS.insert("hash"), *SIGN_UPS.values(sign_up), token_hash)


async def find_sign_up(db: Db, token_hash: bytes, *, now: datetime) -> SignUp | None:
    return await _find_sign_up(db, "hash = $1 and expires_at > $2", token_hash, now)


async def find_sign_up_by_id(db: Db, sign_up_id: UUID, *, now: datetime) -> SignUp | None:
    return await _find_sign_up(db, "id = $1 and expires_at > $2", sign_up_id, now)


async def lock_address(db: Db, email: str) -> None:
    """Let nobody else open an account with this address before the commit: two links of one address would deadlock."""
    await db.execute("select pg_advisory_xact_lock($1::int, hashtext(lower($2)))", ADDRESSES, email)


async def lock_sign_up(db: Db, token_hash: bytes, *, now: datetime) -> SignUp | None:
    """Look up the sign-up of a valid link, and keep others from using it until the commit."""
    return await _find_sign_up(db, "hash = $1 and expires_at > $2 for update", token_hash, now)


async def _find_sign_up(db: Db, condition: str, *args: object) -> SignUp | None:
    row = await db.fetchrow(f"select {SIGN_UPS.columns} from sign_ups where {condition}", *args)
    return SIGN_UPS.read(row) if row else None


async def count_earlier(db: Db, sign_up: SignUp, *, since: datetime) -> int:
    statement = """select count(*) from sign_ups
        where canonical_recipient(email) = canonical_recipient($1) and created_at > $3
          and (created_at, id) < ($4, $2)"""
    return int(await db.fetchval(statement, sign_up.email, sign_up.id, since, sign_up.created_at))


async def delete_sign_ups_of(db: Db, email: str) -> None:
    await db.execute("delete from sign_ups where lower(email) = lower($1)", email)
