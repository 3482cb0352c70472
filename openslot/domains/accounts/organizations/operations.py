"""The verbs of organizations and their domains."""

import re
import unicodedata
from datetime import datetime
from typing import Protocol
from uuid import UUID

import asyncpg
from msgspec.structs import replace

from openslot.domains.accounts import errors
from openslot.domains.accounts.events import DomainVerified, MemberRemoved
from openslot.domains.accounts.models import AssistantPolicy, Domain, Organization
from openslot.domains.accounts.organizations import store
from openslot.domains.accounts.organizations.store import CountedOrganization
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.rules import find_name_fault
from openslot.domains.accounts.store import delete_unused_account
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import new_id, new_token
from openslot.platform.core.text import fold_ascii
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?")
DOMAIN = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
# The subdomain where a proof may be published, so that the records of the domain itself need no change.
PROOF_NAMES = ("_openslot.{domain}", "{domain}")
RECORDED_AT_ONCE = 500


class TxtResolver(Protocol):
    async def list_txt(self, name: str) -> list[str]:
        """List the records; none if the name does not exist."""


async def add_organization(
    work: Work, *, name: str, slug: str, plan: Plan = Plan.FREE, plan_until: datetime | None = None
) -> Organization:
    name, slug = _check_names(name, slug)
    organization = Organization(
        id=new_id(), name=name, slug=slug, plan=plan, plan_until=plan_until, created_at=work.now, updated_at=work.now
    )
    try:
        async with work.attempt():
            await store.insert_organization(work.db, organization)
    except asyncpg.UniqueViolationError:
        raise errors.OrganizationSlugAlreadyExists from None
    return organization


async def change_organization(work: Work, organization: Organization, *, name: str, slug: str) -> Organization:
    name, slug = _check_names(name, slug)
    changed = replace(organization, name=name, slug=slug, updated_at=work.now)
    try:
        async with work.attempt():
            await store.update_organization(work.db, changed)
    except asyncpg.UniqueViolationError:
        raise errors.OrganizationSlugAlreadyExists from None
    return changed


def suggest_slug(name: str) -> str:
    """Make a slug from a name; empty if the name has nothing to make one from."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:50].strip("-")


def _check_names(name: str, slug: str) -> tuple[str, str]:
    name, slug = name.strip(), fold_ascii(slug.strip())
    faults: dict[str, str] = {}
    if fault := find_name_fault(name):
        faults["name"] = fault
    if not SLUG.fullmatch(slug):
        faults["slug"] = Text("must be 1 to 50 lower-case letters, digits and hyphens")
    if faults:
        raise Invalid(details=faults)
    return name, slug


async def get_organization(work: Work, slug: str) -> Organization:
    organization = await store.find_organization(work.db, slug)
    if organization is None:
        raise errors.OrganizationNotFound
    return organization


async def get_organization_by_id(work: Work, organization_id: UUID) -> Organization:
    organization = await store.find_organization_by_id(work.db, organization_id)
    if organization is None:
        raise errors.OrganizationNotFound
    return organization


async def list_organizations(work: Work) -> list[CountedOrganization]:
    return await store.list_organizations(work.db)


async def change_organization_plan(
    work: Work, organization: Organization, plan: Plan, *, until: datetime | None = None
) -> Organization:
    await store.update_plan(work.db, organization.id, plan, until=until, now=work.now)
    return replace(organization, plan=plan, plan_until=until, updated_at=work.now)


async def clear_decided_organization_plan(work: Work, organization: Organization) -> None:
    """Take back what an operator has decided: the organization has no plan, unless it is paid for."""
    await store.clear_plan(work.db, organization.id, now=work.now)


async def follow_organization_subscription(
    work: Work, organization_id: UUID, plan: Plan, *, until: datetime | None
) -> None:
    """Give an organization the plan that is paid for, unless an operator has decided otherwise."""
    await store.follow_subscription(work.db, organization_id, plan, until=until, now=work.now)


async def change_organization_settings(
    work: Work,
    organization: Organization,
    *,
    keeps_bookings: bool | None = None,
    departure_share: int | None = None,
    assistants: AssistantPolicy | None = None,
) -> Organization:
    """Choose what happens when members are suspended, how many may leave in an hour, and what their assistants may."""
    if departure_share is not None and not 0 <= departure_share <= 100:
        raise Invalid(details={"departureShare": Text("must be 0 to 100")})
    changed = replace(
        organization,
        keeps_bookings=organization.keeps_bookings if keeps_bookings is None else keeps_bookings,
        departure_share=organization.departure_share if departure_share is None else departure_share,
        assistants=organization.assistants if assistants is None else assistants,
    )
    await store.update_settings(work.db, changed)
    return changed


async def add_domain(work: Work, organization: Organization, domain: str, *, verified: bool) -> Domain:
    """Claim a mail domain for an organization; a verified one belongs to it alone."""
    name = fold_ascii(domain.strip()).rstrip(".")
    if not DOMAIN.fullmatch(name):
        raise Invalid(details={"domain": Text("must be a domain, such as example.com")})
    claim = Domain(
        id=new_id(),
        organization_id=organization.id,
        domain=name,
        proof=f"openslot-verification={new_token()}",
        verified_at=work.now if verified else None,
        created_at=work.now,
    )
    try:
        async with work.attempt():
            return await store.upsert_domain(work.db, claim)
    except asyncpg.UniqueViolationError:
        raise errors.DomainAlreadyClaimed from None


async def list_domains(work: Work, organization: Organization) -> list[Domain]:
    return await store.list_domains(work.db, organization.id)


async def remove_domain(work: Work, organization: Organization, domain: str) -> None:
    """Give up a domain: the organization no longer manages the accounts in it."""
    await store.delete_domain(work.db, (await get_domain(work, organization.id, domain)).id)


async def verify_domain(work: Work, organization: Organization, domain: str, resolver: TxtResolver) -> Domain:
    """Look for the proof in the domain's DNS and record that it exists, holding no connection meanwhile."""
    claim = await get_domain(work, organization.id, domain)
    await check_proof(claim, resolver)
    async with work.transaction():
        return await confirm_domain(work, claim)


async def check_proof(claim: Domain, resolver: TxtResolver) -> None:
    names = [name.format(domain=claim.domain) for name in PROOF_NAMES]
    if not any([claim.proof in await resolver.list_txt(name) for name in names]):
        raise errors.DomainNotVerified(
            Text("%(name)s has no TXT record with the value %(record)s", name=record_name(claim), record=claim.proof)
        )


async def confirm_domain(work: Work, claim: Domain) -> Domain:
    """Record that a domain is proved; it may have been given up or taken meanwhile."""
    try:
        async with work.attempt():
            if not await store.update_verified(work.db, claim.id, now=work.now):
                raise errors.DomainNotFound
    except asyncpg.UniqueViolationError:
        raise errors.DomainAlreadyClaimed from None
    await work.record(DomainVerified(organization_id=claim.organization_id, domain=claim.domain))
    return replace(claim, verified_at=claim.verified_at or work.now)


def record_name(claim: Domain) -> str:
    return PROOF_NAMES[0].format(domain=claim.domain)


async def get_domain(work: Work, organization_id: UUID, domain: str) -> Domain:
    claim = await store.find_domain(work.db, organization_id, fold_ascii(domain.strip()).rstrip("."))
    if claim is None:
        raise errors.DomainNotFound
    return claim


async def lock_organization_for_deletion(work: Work, organization_id: UUID) -> None:
    """Wait for everyone who changes an organization or its members, and keep others from it until the commit."""
    if not await store.lock_for_deletion(work.db, organization_id):
        raise errors.OrganizationNotFound


async def end_memberships(work: Work, organization: Organization) -> None:
    """End all memberships and invitations; accounts stay, except those that were opened for an unused invitation."""
    # In the same order as somebody who accepts an invitation.
    await store.delete_invitations(work.db, organization.id)
    ended = await store.delete_memberships(work.db, organization.id)
    removed = [MemberRemoved(user_id=each.user_id, email=each.email, organization_id=organization.id) for each in ended]
    for first in range(0, len(removed), RECORDED_AT_ONCE):
        await work.record(*removed[first : first + RECORDED_AT_ONCE])
    for each in ended:
        if each.pending:
            await delete_unused_account(work.db, each.user_id, opened_at=each.created_at)
    await store.hand_over_suspensions(work.db, organization.id, [each.user_id for each in ended])


async def delete_emptied_organization(work: Work, organization: Organization) -> None:
    """Delete an organization without members, with its domains, tokens, logs and settings."""
    await store.delete_organization(work.db, organization.id)
