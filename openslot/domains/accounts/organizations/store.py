"""All SQL of organizations and their domains, and of deleting them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import Domain, Organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.store import PLAN_IS_DECIDED
from openslot.platform.core.db import Db
from openslot.platform.core.query_plans import custom_plans
from openslot.platform.core.rows import Rows

ORGANIZATIONS = Rows(
    Organization,
    "organizations o",
    computed={
        "keeps_bookings": "coalesce(s.keeps_bookings, false)",
        "departure_share": "coalesce(s.departure_share, 20)",
        "assistants": "coalesce(s.assistants, 'allowed')",
    },
)
DOMAINS = Rows(Domain, "domains")
# What the organizations of a user say about assistants.
ASSISTANT_POLICIES = """array(select s.assistants from memberships n
    join organization_settings s on s.organization_id = n.organization_id where n.user_id = u.id and n.active)"""
SOURCE = "organizations o left join organization_settings s on s.organization_id = o.id"


class CountedOrganization(Struct, frozen=True, kw_only=True):
    organization: Organization
    members: int
    domains: list[str]


async def insert_organization(db: Db, organization: Organization) -> None:
    await db.execute(ORGANIZATIONS.insert(), *ORGANIZATIONS.values(organization))


async def find_organization(db: Db, slug: str) -> Organization | None:
    row = await db.fetchrow(f"select {ORGANIZATIONS.columns} from {SOURCE} where lower(o.slug) = lower($1)", slug)
    return ORGANIZATIONS.read(row) if row else None


async def find_organization_by_id(db: Db, organization_id: UUID) -> Organization | None:
    row = await db.fetchrow(f"select {ORGANIZATIONS.columns} from {SOURCE} where o.id = $1", organization_id)
    return ORGANIZATIONS.read(row) if row else None


@custom_plans
async def list_organizations(db: Db) -> list[CountedOrganization]:
    rows = await db.fetch(
        f"""select {ORGANIZATIONS.columns},
            coalesce((select members from member_counts c where c.organization_id = o.id), 0) as members,
            array(select domain from domains d where d.organization_id = o.id and verified_at is not null
                  order by domain) as domains
        from {SOURCE} order by lower(o.slug)"""
    )
    return [
        CountedOrganization(organization=ORGANIZATIONS.read(row), members=row["members"], domains=row["domains"])
        for row in rows
    ]


async def update_plan(db: Db, organization_id: UUID, plan: Plan, *, until: datetime | None, now: datetime) -> None:
    statement = """update organizations set plan = $2, plan_until = $3, plan_origin = 'operator', updated_at = $4
        where id = $1"""
    await db.execute(statement, organization_id, plan, until, now)


async def clear_plan(db: Db, organization_id: UUID, *, now: datetime) -> None:
    statement = """update organizations set plan = 'FREE', plan_until = null, plan_origin = null, updated_at = $2
        where id = $1"""
    await db.execute(statement, organization_id, now)


async def follow_subscription(
    db: Db, organization_id: UUID, plan: Plan, *, until: datetime | None, now: datetime
) -> None:
    statement = f"""update organizations set plan = $2, plan_until = $3, plan_origin = 'subscription', updated_at = $4
        where id = $1 and not {PLAN_IS_DECIDED}"""
    await db.execute(statement, organization_id, plan, until, now)


async def is_organization_plan_decided(db: Db, organization_id: UUID) -> bool:
    return bool(await db.fetchval(f"select {PLAN_IS_DECIDED} from organizations where id = $1", organization_id))


async def update_organization(db: Db, organization: Organization) -> None:
    """Write an organization's name and slug; a unique violation if another one has the slug."""
    statement = "update organizations set name = $2, slug = $3, updated_at = $4 where id = $1"
    await db.execute(statement, organization.id, organization.name, organization.slug, organization.updated_at)


async def update_settings(db: Db, organization: Organization) -> None:
    statement = """
        insert into organization_settings (organization_id, keeps_bookings, departure_share, assistants)
        values ($1, $2, $3, $4)
        on conflict (organization_id) do update
        set keeps_bookings = excluded.keeps_bookings, departure_share = excluded.departure_share,
            assistants = excluded.assistants"""
    chosen = organization.keeps_bookings, organization.departure_share, organization.assistants
    await db.execute(statement, organization.id, *chosen)


async def lock_organization(db: Db, organization_id: UUID) -> None:
    """Keep other transactions from deciding about this organization's members until the commit."""
    await db.execute("select from organizations where id = $1 for no key update", organization_id)


async def upsert_domain(db: Db, domain: Domain) -> Domain:
    """Write an organization's claim to a domain; one that is there keeps its proof, and stays verified."""
    statement = f"""{DOMAINS.insert()}
        on conflict (organization_id, domain) do update
        set verified_at = coalesce(domains.verified_at, excluded.verified_at)
        returning {DOMAINS.columns}"""
    row = await db.fetchrow(statement, *DOMAINS.values(domain))
    assert row is not None  # noqa: S101 - an insert that returns
    return DOMAINS.read(row)


async def find_domain(db: Db, organization_id: UUID, domain: str) -> Domain | None:
    statement = f"select {DOMAINS.columns} from domains where organization_id = $1 and domain = $2"
    row = await db.fetchrow(statement, organization_id, domain)
    return DOMAINS.read(row) if row else None


async def list_domains(db: Db, organization_id: UUID) -> list[Domain]:
    statement = f"select {DOMAINS.columns} from domains where organization_id = $1 order by domain"
    return [DOMAINS.read(row) for row in await db.fetch(statement, organization_id)]


async def update_verified(db: Db, domain_id: UUID, *, now: datetime) -> bool:
    """Write that a domain is proved; False if the claim is gone, a unique violation if another one has it."""
    statement = "update domains set verified_at = coalesce(verified_at, $2) where id = $1 returning id"
    return await db.fetchval(statement, domain_id, now) is not None


async def delete_domain(db: Db, domain_id: UUID) -> None:
    await db.execute("delete from domains where id = $1", domain_id)


async def has_domain_of(db: Db, organization_id: UUID, email: str) -> bool:
    statement = """select exists (select from domains where organization_id = $1 and verified_at is not null
                and domain = lower($2))"""
    return bool(await db.fetchval(statement, organization_id, email.rpartition("@")[2]))


async def has_foreign_domain(db: Db, organization_id: UUID, email: str) -> bool:
    """Return whether an address is in a domain that another organization has verified."""
    statement = """select exists (select from domains where organization_id <> $1 and verified_at is not null
                and domain = lower($2))"""
    return bool(await db.fetchval(statement, organization_id, email.rpartition("@")[2]))


class FormerMember(Struct, frozen=True, kw_only=True):
    user_id: UUID
    email: str
    pending: bool
    created_at: datetime


class Belongings(Struct, frozen=True, kw_only=True):
    members: int
    """How many have joined, including suspended ones."""
    suspended: int
    invited: int
    tokens: int
    domains: list[str]
    """The verified domains."""


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
    row = await db.fetchrow(BELONGINGS, organization_id)
    assert row is not None  # noqa: S101 - a select of aggregates
    return Belongings(**row)


async def lock_for_deletion(db: Db, organization_id: UUID) -> bool:
    """Wait for everyone who changes an organization or its members, and keep others out; False if it is gone."""
    return await db.fetchrow("select from organizations where id = $1 for update", organization_id) is not None


async def delete_invitations(db: Db, organization_id: UUID) -> None:
    await db.execute("delete from invitations where organization_id = $1", organization_id)


async def delete_memberships(db: Db, organization_id: UUID) -> list[FormerMember]:
    statement = """with pending as (
            select member_id from member_profiles where organization_id = $1 and pending
        ), ended as (
            delete from memberships where organization_id = $1 returning id, user_id, created_at
        )
        select e.user_id, u.email, e.id in (select member_id from pending) as pending, e.created_at
        from ended e join users u on u.id = e.user_id order by e.user_id"""
    return [FormerMember(**row) for row in await db.fetch(statement, organization_id)]


async def hand_over_suspensions(db: Db, organization_id: UUID, user_ids: Sequence[UUID]) -> None:
    """Let another organization that has also suspended an account be the one that may open it again."""
    statement = """update users u set suspended_by = o.organization_id
        from (
            select distinct on (m.user_id) m.user_id, m.organization_id
            from memberships m left join member_profiles p on p.member_id = m.id
            where m.organization_id <> $1 and not m.active and not coalesce(p.pending, false)
              and m.user_id = any($2)
            order by m.user_id, m.id
        ) o
        where o.user_id = u.id and u.suspended_by = $1"""
    await db.execute(statement, organization_id, user_ids)


async def delete_organization(db: Db, organization_id: UUID) -> None:
    await db.execute("delete from organizations where id = $1", organization_id)
