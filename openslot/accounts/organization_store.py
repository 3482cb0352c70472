"""All SQL of organizations and their domains."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import Domain, Organization
from openslot.accounts.plans import Plan
from openslot.core.db import Db, Row
from openslot.core.query_plans import custom_plans

COLUMNS = """o.id, o.name, o.slug, o.plan, o.plan_until, o.created_at, o.updated_at,
coalesce(s.keeps_bookings, false) as keeps_bookings, coalesce(s.departure_share, 20) as departure_share"""
SOURCE = "organizations o left join organization_settings s on s.organization_id = o.id"
DOMAIN_COLUMNS = "id, organization_id, domain, proof, verified_at, created_at"


class CountedOrganization(Struct, frozen=True, kw_only=True):
    """An organization, how many members it has, and its verified domains."""

    organization: Organization
    members: int
    domains: list[str]


def to_organization(row: Row) -> Organization:
    """Make an organization of a row that has `COLUMNS`."""
    return Organization(
        id=row["id"],
        name=row["name"],
        slug=row["slug"],
        plan=Plan(row["plan"]),
        plan_until=row["plan_until"],
        keeps_bookings=row["keeps_bookings"],
        departure_share=row["departure_share"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def insert_organization(db: Db, organization: Organization) -> None:
    """Write a new organization."""
    await db.execute(
        """insert into organizations (id, name, slug, plan, plan_until, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $6)""",
        organization.id,
        organization.name,
        organization.slug,
        organization.plan,
        organization.plan_until,
        organization.created_at,
    )


async def find_organization(db: Db, slug: str) -> Organization | None:
    """Look an organization up by its slug."""
    row = await db.fetchrow(f"select {COLUMNS} from {SOURCE} where lower(o.slug) = lower($1)", slug)
    return to_organization(row) if row else None


async def find_organization_by_id(db: Db, organization_id: UUID) -> Organization | None:
    """Look an organization up by its id."""
    row = await db.fetchrow(f"select {COLUMNS} from {SOURCE} where o.id = $1", organization_id)
    return to_organization(row) if row else None


@custom_plans
async def list_organizations(db: Db) -> list[CountedOrganization]:
    """List every organization by its slug."""
    rows = await db.fetch(
        f"""select {COLUMNS},
            coalesce((select members from member_counts c where c.organization_id = o.id), 0) as members,
            array(select domain from domains d where d.organization_id = o.id and verified_at is not null
                  order by domain) as domains
        from {SOURCE} order by lower(o.slug)"""
    )
    return [
        CountedOrganization(organization=to_organization(row), members=row["members"], domains=row["domains"])
        for row in rows
    ]


async def update_plan(db: Db, organization_id: UUID, plan: Plan, *, until: datetime | None, now: datetime) -> None:
    """Change an organization's plan."""
    await db.execute(
        "update organizations set plan = $2, plan_until = $3, updated_at = $4 where id = $1",
        organization_id,
        plan,
        until,
        now,
    )


async def update_organization(db: Db, organization: Organization) -> None:
    """Write an organization's name and slug; a unique violation where another one has the slug."""
    await db.execute(
        "update organizations set name = $2, slug = $3, updated_at = $4 where id = $1",
        organization.id,
        organization.name,
        organization.slug,
        organization.updated_at,
    )


async def update_settings(db: Db, organization: Organization) -> None:
    """Write what an organization has chosen."""
    await db.execute(
        """insert into organization_settings (organization_id, keeps_bookings, departure_share) values ($1, $2, $3)
        on conflict (organization_id) do update
        set keeps_bookings = excluded.keeps_bookings, departure_share = excluded.departure_share""",
        organization.id,
        organization.keeps_bookings,
        organization.departure_share,
    )


async def lock_organization(db: Db, organization_id: UUID) -> None:
    """Keep other transactions from deciding about this organization's members until the commit."""
    await db.execute("select from organizations where id = $1 for no key update", organization_id)


async def upsert_domain(db: Db, domain: Domain) -> Domain:
    """Write an organization's claim to a domain; one that is there keeps its proof, and stays verified."""
    row = await db.fetchrow(
        f"""insert into domains as d (id, organization_id, domain, proof, verified_at, created_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (organization_id, domain) do update set verified_at = coalesce(d.verified_at, excluded.verified_at)
        returning {DOMAIN_COLUMNS}""",
        domain.id,
        domain.organization_id,
        domain.domain,
        domain.proof,
        domain.verified_at,
        domain.created_at,
    )
    assert row is not None  # noqa: S101 - an insert that returns
    return Domain(**row)


async def find_domain(db: Db, organization_id: UUID, domain: str) -> Domain | None:
    """Look an organization's claim to a domain up."""
    row = await db.fetchrow(
        f"select {DOMAIN_COLUMNS} from domains where organization_id = $1 and domain = $2", organization_id, domain
    )
    return Domain(**row) if row else None


async def list_domains(db: Db, organization_id: UUID) -> list[Domain]:
    """List an organization's claims to domains."""
    rows = await db.fetch(
        f"select {DOMAIN_COLUMNS} from domains where organization_id = $1 order by domain", organization_id
    )
    return [Domain(**row) for row in rows]


async def update_verified(db: Db, domain_id: UUID, *, now: datetime) -> bool:
    """Write that a domain is proved; False where the claim is gone, a unique violation where another one has it."""
    found = await db.fetchval(
        "update domains set verified_at = coalesce(verified_at, $2) where id = $1 returning id", domain_id, now
    )
    return found is not None


async def delete_domain(db: Db, domain_id: UUID) -> None:
    """Give up a claim to a domain."""
    await db.execute("delete from domains where id = $1", domain_id)


async def has_domain_of(db: Db, organization_id: UUID, email: str) -> bool:
    """Return whether an address is in a domain that the organization has verified."""
    return bool(
        await db.fetchval(
            """select exists (select from domains where organization_id = $1 and verified_at is not null
                and domain = lower($2))""",
            organization_id,
            email.rpartition("@")[2],
        )
    )
