"""All SQL of the deletion of an organization."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.core.db import Db


class FormerMember(Struct, frozen=True, kw_only=True):
    """Someone whose membership has ended with the organization."""

    user_id: UUID
    email: str
    pending: bool
    created_at: datetime
    """When the membership began."""


class Belongings(Struct, frozen=True, kw_only=True):
    """What an organization has."""

    members: int
    """Those who have joined, suspended ones included."""
    suspended: int
    invited: int
    tokens: int
    domains: list[str]
    """Only verified ones."""


BELONGINGS = """
select m.members, m.suspended, m.invited,
    (select count(*) from scim_tokens where organization_id = $1 and revoked_at is null) as tokens,
    array(select domain from domains where organization_id = $1 and verified_at is not null order by domain) as domains
from (
    select count(*) filter (where not coalesce(p.pending, false)) as members,
        count(*) filter (where not n.active and not coalesce(p.pending, false)) as suspended,
        count(*) filter (where coalesce(p.pending, false)) as invited
    from memberships n left join member_profiles p on p.member_id = n.id where n.organization_id = $1
) m"""


async def count_belongings(db: Db, organization_id: UUID) -> Belongings:
    """Count what an organization has."""
    row = await db.fetchrow(BELONGINGS, organization_id)
    assert row is not None  # noqa: S101 - a select of aggregates
    return Belongings(**row)


async def lock_for_deletion(db: Db, organization_id: UUID) -> bool:
    """Wait for everyone who changes an organization or its members, and keep others out; False where it is gone."""
    row = await db.fetchrow("select from organizations where id = $1 for update", organization_id)
    return row is not None


async def delete_invitations(db: Db, organization_id: UUID) -> None:
    """Remove all invitations to an organization; the links no longer work."""
    await db.execute("delete from invitations where organization_id = $1", organization_id)


async def delete_memberships(db: Db, organization_id: UUID) -> list[FormerMember]:
    """End all memberships of an organization, and return whose they were."""
    rows = await db.fetch(
        """with pending as (
            select member_id from member_profiles where organization_id = $1 and pending
        ), ended as (
            delete from memberships where organization_id = $1 returning id, user_id, created_at
        )
        select e.user_id, u.email, e.id in (select member_id from pending) as pending, e.created_at
        from ended e join users u on u.id = e.user_id order by e.user_id""",
        organization_id,
    )
    return [FormerMember(**row) for row in rows]


async def hand_over_suspensions(db: Db, organization_id: UUID, user_ids: Sequence[UUID]) -> None:
    """Let another organization that has also suspended an account be the one that may open it again."""
    await db.execute(
        """update users u set suspended_by = o.organization_id
        from (
            select distinct on (m.user_id) m.user_id, m.organization_id
            from memberships m left join member_profiles p on p.member_id = m.id
            where m.organization_id <> $1 and not m.active and not coalesce(p.pending, false)
              and m.user_id = any($2)
            order by m.user_id, m.id
        ) o
        where o.user_id = u.id and u.suspended_by = $1 and u.disabled_at = u.suspended_at""",
        organization_id,
        user_ids,
    )


async def delete_organization(db: Db, organization_id: UUID) -> None:
    """Delete an organization with its domains, tokens, logs and settings."""
    await db.execute("delete from organizations where id = $1", organization_id)
