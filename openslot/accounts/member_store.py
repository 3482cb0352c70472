"""All SQL of members."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from openslot.accounts.host_lock import LOCK_HOST
from openslot.accounts.models import Member, Membership, Role
from openslot.accounts.store import USER_COLUMNS, to_user
from openslot.core.db import Db, Row

Profile = dict[str, Any]

MEMBER_COLUMNS = f"""{USER_COLUMNS}, m.id as member_id, m.organization_id, m.role, m.active,
case when p.member_id is null then m.active else p.active end as said_active,
coalesce(p.pending, false) as pending, p.profile, coalesce(p.version, 1) as version,
m.created_at as joined_at, coalesce(p.changed_at, m.updated_at) as changed_at,
(select d.organization_id = m.organization_id from domains d
 where d.domain = split_part(lower(u.email), '@', 2) and d.verified_at is not null) as owns_domain"""
SOURCE = "memberships m join users u on u.id = m.user_id left join member_profiles p on p.member_id = m.id"


def to_member(row: Row, *, now: datetime) -> Member:
    """Make a member of a row that has `MEMBER_COLUMNS`."""
    return Member(
        id=row["member_id"],
        organization_id=row["organization_id"],
        user=to_user(row, now=now),
        role=Role(row["role"]),
        active=row["active"],
        said_active=row["said_active"],
        pending=row["pending"],
        profile=msgspec.json.decode(row["profile"]) if row["profile"] else None,
        version=row["version"],
        is_in_domain=row["owns_domain"] is True,
        is_in_other_domain=row["owns_domain"] is False,
        created_at=row["joined_at"],
        updated_at=row["changed_at"],
    )


async def lock_member(db: Db, organization_id: UUID, member_id: UUID) -> bool:
    """Wait for the lock of a membership's host; False if there is no such membership."""
    row = await db.fetchrow(
        f"""select {LOCK_HOST} from memberships m join users u on u.id = m.user_id
        where m.organization_id = $1 and m.id = $2""",
        organization_id,
        member_id,
    )
    return row is not None


async def find_member(db: Db, organization_id: UUID, member_id: UUID, *, now: datetime) -> Member | None:
    """Look a member of an organization up."""
    row = await db.fetchrow(
        f"""select {MEMBER_COLUMNS} from {SOURCE}
        where m.organization_id = $1 and m.id = $2""",
        organization_id,
        member_id,
    )
    return to_member(row, now=now) if row else None


async def find_member_by_user(db: Db, organization_id: UUID, user_id: UUID, *, now: datetime) -> Member | None:
    """Look a user's place in an organization up."""
    row = await db.fetchrow(
        f"""select {MEMBER_COLUMNS} from {SOURCE}
        where m.organization_id = $1 and m.user_id = $2""",
        organization_id,
        user_id,
    )
    return to_member(row, now=now) if row else None


async def list_members(db: Db, organization_id: UUID, *, now: datetime, limit: int, offset: int) -> list[Member]:
    """List an organization's members by when they joined."""
    rows = await db.fetch(
        f"""select {MEMBER_COLUMNS} from {SOURCE}
        where m.organization_id = $1 order by m.id limit $2 offset $3""",
        organization_id,
        limit,
        offset,
    )
    return [to_member(row, now=now) for row in rows]


async def find_managing_organization(db: Db, user_id: UUID) -> str | None:
    """Name the organization whose identity provider manages an account, if one does."""
    name: str | None = await db.fetchval(
        """select o.name from memberships m join member_profiles p on p.member_id = m.id
        join organizations o on o.id = m.organization_id join users u on u.id = m.user_id
        where m.user_id = $1 and p.profile is not null and not p.pending and not exists (
            select from domains d where d.domain = split_part(lower(u.email), '@', 2)
            and d.verified_at is not null and d.organization_id <> m.organization_id)
        order by m.id limit 1""",
        user_id,
    )
    return name


async def list_administrators(db: Db, organization_id: UUID) -> list[UUID]:
    """Name the active owners and administrators of an organization."""
    rows = await db.fetch(
        """select u.id from memberships m join users u on u.id = m.user_id
        where m.organization_id = $1 and m.role in ('owner', 'admin') and m.active and u.disabled_at is null
        order by u.id""",
        organization_id,
    )
    return [row["id"] for row in rows]


async def insert_membership(db: Db, membership: Membership) -> None:
    """Write a user's place in an organization."""
    await db.execute(
        """insert into memberships (id, organization_id, user_id, role, active, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $6)""",
        membership.id,
        membership.organization_id,
        membership.user_id,
        membership.role,
        membership.active,
        membership.created_at,
    )


async def insert_profile(
    db: Db, membership: Membership, *, profile: Profile | None, said_active: bool | None, pending: bool
) -> None:
    """Write what a provider says about a new member."""
    await db.execute(
        """insert into member_profiles
        (member_id, organization_id, profile, version, active, pending, joined_at, changed_at)
        values ($1, $2, $3, 1, $4, $5, $6, $6)""",
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
    """Write what a provider says about a member, as the next version."""
    await db.execute(
        """insert into member_profiles as p
        (member_id, organization_id, profile, version, active, changed_at, joined_at)
        values ($1, $2, $3, 2, $4, $5, $6)
        on conflict (member_id) do update set profile = excluded.profile, version = p.version + 1,
            active = excluded.active, changed_at = excluded.changed_at""",
        member.id,
        member.organization_id,
        _encode(profile),
        said_active,
        now,
        member.created_at,
    )


async def update_active(db: Db, member_id: UUID, *, active: bool, now: datetime) -> None:
    """Write whether a membership counts."""
    await db.execute("update memberships set active = $2, updated_at = $3 where id = $1", member_id, active, now)


async def update_accepted(db: Db, organization_id: UUID, user_id: UUID, *, now: datetime) -> None:
    """Write that the owner of an account has accepted to join: from now on the membership is what the provider says."""
    await db.execute(
        """with accepted as (
            update member_profiles p set pending = false from memberships m
            where m.organization_id = $1 and m.user_id = $2 and p.member_id = m.id and p.pending
            returning p.member_id, coalesce(p.active, true) as active
        )
        update memberships m set active = a.active, updated_at = $3 from accepted a where m.id = a.member_id""",
        organization_id,
        user_id,
        now,
    )


async def find_membership(db: Db, organization_id: UUID, user_id: UUID) -> Membership | None:
    """Look a user's place in an organization up."""
    row = await db.fetchrow(
        """select id, organization_id, user_id, role, active, created_at, updated_at
        from memberships where organization_id = $1 and user_id = $2""",
        organization_id,
        user_id,
    )
    return Membership(**{**row, "role": Role(row["role"])}) if row else None


async def find_other_suspender(db: Db, user_id: UUID, organization_id: UUID) -> UUID | None:
    """Name another organization that has also suspended this user."""
    found: UUID | None = await db.fetchval(
        """select m.organization_id from memberships m left join member_profiles p on p.member_id = m.id
        where m.user_id = $1 and m.organization_id <> $2 and not m.active and not coalesce(p.pending, false)
        order by m.id limit 1""",
        user_id,
        organization_id,
    )
    return found


async def delete_membership(db: Db, organization_id: UUID, user_id: UUID) -> bool:
    """End a membership; False where there was none."""
    gone = await db.fetchval(
        "delete from memberships where organization_id = $1 and user_id = $2 returning id", organization_id, user_id
    )
    return gone is not None


def _encode(profile: Profile | None) -> str | None:
    return None if profile is None else msgspec.json.encode(profile).decode()
