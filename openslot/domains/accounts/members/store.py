"""All SQL of members."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from openslot.domains.accounts.models import ListedMember, Member, MemberFilter, Membership, OwnMembership, Role
from openslot.domains.accounts.store import ACCOUNT_COLUMNS, ORGANIZATION_PLAN, USER_COLUMNS, lock_leavers, to_user
from openslot.platform.core.db import Db, Row
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

Profile = dict[str, Any]

OF_ORGANIZATION = "memberships_organization_id_fkey"

MEMBERSHIPS = Rows(Membership, "memberships m")
MEMBERS = Rows(
    Member,
    "memberships m",
    prefix="member_",
    computed={
        "said_active": "case when p.member_id is null then m.active else p.active end",
        "pending": "coalesce(p.pending, false)",
        "profile": "p.profile",
        "version": "coalesce(p.version, 1)",
        "updated_at": "coalesce(p.changed_at, m.updated_at)",
    },
    given=["user", "is_in_domain", "is_in_other_domain"],
)
MEMBER_COLUMNS = f"""{USER_COLUMNS}, {MEMBERS.columns},
(select d.organization_id = m.organization_id from domains d
 where d.domain = split_part(lower(u.email), '@', 2) and d.verified_at is not null) as owns_domain"""
# A user with the active memberships, for the statement that looks a session up; they are read only once.
MEMBER_USER_COLUMNS = f"{ACCOUNT_COLUMNS}, coalesce(g.plans, '{{}}') as organization_plans, g.own_memberships"
OWN_MEMBERSHIPS = f"""left join lateral (
    select array_agg({ORGANIZATION_PLAN}) as plans,
        json_agg(json_build_object(
            'organization_id', n.organization_id, 'organization_name', o.name, 'role', n.role
        ) order by lower(o.name), o.id)::text as own_memberships
    from memberships n join organizations o on o.id = n.organization_id
    where n.user_id = u.id and n.active
) g on true"""
SOURCE = "memberships m join users u on u.id = m.user_id left join member_profiles p on p.member_id = m.id"


INVITED = """left join invitations i on i.organization_id = m.organization_id and i.user_id = m.user_id
and i.used_at is null"""
LISTED_SOURCE = f"{SOURCE} {INVITED}"
LISTED_JOINS = f"""join memberships m on m.id = f.id join users u on u.id = m.user_id
left join member_profiles p on p.member_id = m.id {INVITED}"""
LISTED = Rows(
    ListedMember,
    "memberships m",
    computed={
        "has_password": "u.password_hash is not null",
        "invited_at": "i.created_at",
        "invited_until": "i.expires_at",
        "invitation_id": "i.id",
        "refused": "p.invitation_refused",
    },
    given=["member"],
)
LISTED_COLUMNS = f"{MEMBER_COLUMNS}, {LISTED.columns}"
# The name of a stranger's account is not shown before its owner has joined.
SHOWN_NAME = "case when coalesce(p.pending, false) then u.email else u.name end"
STATE = "case when coalesce(p.pending, false) then 'invited' when m.active then 'active' else 'suspended' end"


def to_member(row: Row, *, now: datetime) -> Member:
    """Make a member of a row that has `MEMBER_COLUMNS`."""
    owns = row["owns_domain"]
    user = to_user(row, now=now)
    return MEMBERS.read(row, user=user, is_in_domain=owns is True, is_in_other_domain=owns is False)


def to_listed(row: Row, *, now: datetime) -> ListedMember:
    return LISTED.read(row, member=to_member(row, now=now))


_own_memberships = msgspec.json.Decoder(tuple[OwnMembership, ...])


def to_own_memberships(row: Row) -> tuple[OwnMembership, ...]:
    return _own_memberships.decode(row["own_memberships"]) if row["own_memberships"] else ()


async def lock_member(db: Db, organization_id: UUID, member_id: UUID) -> bool:
    """Wait for the locks of a member who may leave; False if there is no such membership."""
    statement = "select user_id from memberships where organization_id = $1 and id = $2"
    user_id = await db.fetchval(statement, organization_id, member_id)
    if user_id is not None:
        await lock_leavers(db, [user_id])
    return user_id is not None


async def find_member(db: Db, organization_id: UUID, member_id: UUID, *, now: datetime) -> Member | None:
    return await _find(db, "where m.organization_id = $1 and m.id = $2", organization_id, member_id, now=now)


async def find_member_for_change(db: Db, organization_id: UUID, member_id: UUID, *, now: datetime) -> Member | None:
    """Look a member up and keep the organization from being deleted until the commit."""
    condition = """join organizations o on o.id = m.organization_id
        where m.organization_id = $1 and m.id = $2 for key share of o"""
    return await _find(db, condition, organization_id, member_id, now=now)


async def find_member_by_user(db: Db, organization_id: UUID, user_id: UUID, *, now: datetime) -> Member | None:
    return await _find(db, "where m.organization_id = $1 and m.user_id = $2", organization_id, user_id, now=now)


async def _find(db: Db, condition: str, *args: UUID, now: datetime) -> Member | None:
    row = await db.fetchrow(f"select {MEMBER_COLUMNS} from {SOURCE} {condition}", *args)
    return to_member(row, now=now) if row else None


async def list_members(db: Db, organization_id: UUID, *, now: datetime, limit: int, offset: int) -> list[Member]:
    statement = f"""select {MEMBER_COLUMNS} from {SOURCE}
        where m.organization_id = $1 order by m.id limit $2 offset $3"""
    return [to_member(row, now=now) for row in await db.fetch(statement, organization_id, limit, offset)]


async def find_listed_member(db: Db, organization_id: UUID, member_id: UUID, *, now: datetime) -> ListedMember | None:
    statement = f"""select {LISTED_COLUMNS} from {LISTED_SOURCE} where m.organization_id = $1 and m.id = $2"""
    row = await db.fetchrow(statement, organization_id, member_id)
    return to_listed(row, now=now) if row else None


@custom_plans
async def search_members(
    db: Db, organization_id: UUID, wanted: MemberFilter, *, now: datetime, limit: int, offset: int
) -> tuple[list[ListedMember], int]:
    """List members that a filter finds, by when they joined, newest first, and how many there are."""
    if wanted == MemberFilter():
        # What the database has counted already is not counted again.
        statement = f"""select coalesce((select members from member_counts where organization_id = $1), 0) as total,
                {LISTED_COLUMNS}
            from (select id from memberships where organization_id = $1 order by id desc limit $2 offset $3) f
            {LISTED_JOINS} order by f.id desc"""
        rows = await db.fetch(statement, organization_id, limit, offset)
    else:
        statement = f"""with matching as materialized (
                select m.id from {SOURCE}
                where m.organization_id = $1 and ($2 = '' or m.role = $2) and ($3 = '' or {STATE} = $3)
                  and ($4 = '' or strpos(lower({SHOWN_NAME} || ' ' || u.email), lower($4)) > 0)
            )
            select (select count(*) from matching) as total, {LISTED_COLUMNS}
            from (select id from matching order by id desc limit $5 offset $6) f {LISTED_JOINS} order by f.id desc"""
        rows = await db.fetch(statement, organization_id, wanted.role, wanted.state, wanted.search, limit, offset)
    return [to_listed(row, now=now) for row in rows], rows[0]["total"] if rows else 0


async def find_managing_organization(db: Db, user_id: UUID) -> str | None:
    statement = """select o.name from memberships m join member_profiles p on p.member_id = m.id
        join organizations o on o.id = m.organization_id join users u on u.id = m.user_id
        where m.user_id = $1 and p.profile is not null and not p.pending and not exists (
            select from domains d where d.domain = split_part(lower(u.email), '@', 2)
            and d.verified_at is not null and d.organization_id <> m.organization_id)
        order by m.id limit 1"""
    name: str | None = await db.fetchval(statement, user_id)
    return name


async def list_managing(db: Db, user_id: UUID) -> list[UUID]:
    """List the organizations to which a provider has added a user who did not have to accept."""
    statement = """select m.organization_id from memberships m join member_profiles p on p.member_id = m.id
        where m.user_id = $1 and p.profile is not null and not p.pending order by m.organization_id"""
    return [row["organization_id"] for row in await db.fetch(statement, user_id)]


async def list_administrators(db: Db, organization_id: UUID) -> list[UUID]:
    statement = """select u.id from memberships m join users u on u.id = m.user_id
        where m.organization_id = $1 and m.role in ('owner', 'admin') and m.active and u.disabled_at is null
        order by u.id"""
    return [row["id"] for row in await db.fetch(statement, organization_id)]


async def find_role(db: Db, organization_id: UUID, user_id: UUID) -> Role | None:
    statement = """select m.role from memberships m join users u on u.id = m.user_id
        where m.organization_id = $1 and m.user_id = $2 and m.active and u.disabled_at is null"""
    role = await db.fetchval(statement, organization_id, user_id)
    return Role(role) if role else None


async def has_other_owner(db: Db, organization_id: UUID, user_id: UUID) -> bool:
    statement = """select exists (select from memberships m join users u on u.id = m.user_id
                where m.organization_id = $1 and m.role = 'owner' and m.role in ('owner', 'admin')
                  and m.active and u.disabled_at is null and m.user_id <> $2)"""
    return bool(await db.fetchval(statement, organization_id, user_id))


async def owns_organization(db: Db, user_id: UUID) -> bool:
    statement = "select exists (select from memberships where user_id = $1 and role = 'owner')"
    return bool(await db.fetchval(statement, user_id))


async def update_role(db: Db, member_id: UUID, role: Role, *, now: datetime) -> None:
    await db.execute("update memberships set role = $2, updated_at = $3 where id = $1", member_id, role, now)


async def insert_membership(db: Db, membership: Membership) -> None:
    await db.execute(MEMBERSHIPS.insert(), *MEMBERSHIPS.values(membership))


async def insert_profile(
    db: Db, membership: Membership, *, profile: Profile | None, said_active: bool | None, pending: bool
) -> None:
    statement = """insert into member_profiles
        (member_id, organization_id, profile, version, active, pending, joined_at, changed_at)
        values ($1, $2, $3, 1, $4, $5, $6, $6)"""
    await db.execute(
        statement,
        membership.id,
        membership.organization_id,
        _encode(profile),
        said_active,
        pending,
        membership.created_at,
    )


async def update_profile(
    db: Db, member: Member, *, profile: Profile | None, said_active: bool | None, now: datetime
) -> None:
    statement = """insert into member_profiles as p
        (member_id, organization_id, profile, version, active, changed_at, joined_at)
        values ($1, $2, $3, 2, $4, $5, $6)
        on conflict (member_id) do update set profile = excluded.profile, version = p.version + 1,
            active = excluded.active, changed_at = excluded.changed_at"""
    await db.execute(
        statement, member.id, member.organization_id, _encode(profile), said_active, now, member.created_at
    )


async def update_active(db: Db, member_id: UUID, *, active: bool, now: datetime) -> None:
    await db.execute("update memberships set active = $2, updated_at = $3 where id = $1", member_id, active, now)


async def update_accepted_member(db: Db, organization_id: UUID, user_id: UUID, *, now: datetime) -> None:
    """Write that the owner of an account has accepted to join: from now on the membership is what the provider says."""
    statement = """with accepted as (
            update member_profiles p set pending = false from memberships m
            where m.organization_id = $1 and m.user_id = $2 and p.member_id = m.id and p.pending
            returning p.member_id, coalesce(p.active, true) as active
        )
        update memberships m set active = a.active, updated_at = $3 from accepted a where m.id = a.member_id"""
    await db.execute(statement, organization_id, user_id, now)


async def update_asked(db: Db, member_id: UUID, *, now: datetime) -> None:
    """Write that the owner of an account, who is known now, has yet to accept."""
    statement = """with asked as (update member_profiles set pending = true where member_id = $1)
        update memberships set active = false, updated_at = $2 where id = $1"""
    await db.execute(statement, member_id, now)


async def find_membership(db: Db, organization_id: UUID, user_id: UUID) -> Membership | None:
    statement = f"select {MEMBERSHIPS.columns} from memberships m where m.organization_id = $1 and m.user_id = $2"
    row = await db.fetchrow(statement, organization_id, user_id)
    return MEMBERSHIPS.read(row) if row else None


async def find_other_suspender(db: Db, user_id: UUID, organization_id: UUID) -> UUID | None:
    statement = """select m.organization_id from memberships m left join member_profiles p on p.member_id = m.id
        where m.user_id = $1 and m.organization_id <> $2 and not m.active and not coalesce(p.pending, false)
        order by m.id limit 1"""
    found: UUID | None = await db.fetchval(statement, user_id, organization_id)
    return found


async def delete_membership(db: Db, organization_id: UUID, user_id: UUID) -> bool:
    statement = "delete from memberships where organization_id = $1 and user_id = $2 returning id"
    return await db.fetchval(statement, organization_id, user_id) is not None


def _encode(profile: Profile | None) -> str | None:
    return None if profile is None else msgspec.json.encode(profile).decode()
