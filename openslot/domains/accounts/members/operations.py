"""The verbs of members: who joins, changes, is suspended or leaves, and who may decide about it."""

from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from openslot.domains.accounts import errors
from openslot.domains.accounts.events import MemberAdded, MemberReinstated, MemberRemoved, MemberSuspended
from openslot.domains.accounts.members import store
from openslot.domains.accounts.models import ListedMember, Member, MemberFilter, Membership, Organization, Role, User
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.accounts.store import (
    close_managed_account,
    is_leaving,
    lock_administrators,
    reopen_managed_account,
)
from openslot.platform.core.errors import NotFound
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

ADMINISTRATORS = frozenset({Role.OWNER, Role.ADMIN})


class Administration(Struct, frozen=True, kw_only=True):
    """An organization, and who decides about it with which role; both stay as they are until the commit."""

    organization: Organization
    user_id: UUID
    role: Role


async def check_another_admin(work: Work, user: User) -> None:
    """Refuse to lose the last administrator who can sign in."""
    if await lock_administrators(work.db) == {user.id}:
        raise errors.LastAdministratorRequired


async def add_organization_member(
    work: Work, organization: Organization, user: User, *, role: Role = Role.MEMBER, active: bool = True
) -> Membership:
    return await _insert(work, organization, user, role=role, active=active, member_id=new_id())


async def add_described_member(
    work: Work,
    organization: Organization,
    user: User,
    *,
    profile: dict[str, Any] | None,
    said_active: bool | None,
    pending: bool = False,
    role: Role = Role.MEMBER,
    member_id: UUID | None = None,
) -> UUID:
    """Add a user to an organization as a provider describes them; a pending member still has to accept."""
    active = not pending and said_active is not False
    membership = await _insert(work, organization, user, role=role, active=active, member_id=member_id or new_id())
    await store.insert_profile(work.db, membership, profile=profile, said_active=said_active, pending=pending)
    return membership.id


async def get_member(work: Work, organization_id: UUID, member_id: UUID) -> Member:
    member = await store.find_member(work.db, organization_id, member_id, now=work.now)
    if member is None:
        raise errors.MemberNotFound
    return member


async def get_member_for_change(work: Work, organization_id: UUID, member_id: UUID) -> Member:
    """Read one member under the host's lock: what is decided from it holds until the commit."""
    if not await store.lock_member(work.db, organization_id, member_id):
        raise errors.MemberNotFound
    member = await store.find_member_for_change(work.db, organization_id, member_id, now=work.now)
    if member is None:
        raise errors.MemberNotFound
    return member


async def get_member_by_user(work: Work, organization: Organization, user: User) -> Member:
    member = await find_member_by_user(work, organization, user)
    if member is None:
        raise errors.MemberNotFound
    return member


async def find_member_by_user(work: Work, organization: Organization, user: User) -> Member | None:
    return await store.find_member_by_user(work.db, organization.id, user.id, now=work.now)


async def list_organization_members(
    work: Work, organization: Organization, *, page: int = 1, limit: int = 1000
) -> list[Member]:
    return await store.list_members(work.db, organization.id, now=work.now, limit=limit, offset=(page - 1) * limit)


async def get_listed_member(work: Work, organization_id: UUID, member_id: UUID) -> ListedMember:
    listed = await store.find_listed_member(work.db, organization_id, member_id, now=work.now)
    if listed is None:
        raise errors.MemberNotFound
    return listed


async def search_members(
    work: Work, organization_id: UUID, wanted: MemberFilter, *, page: int = 1, limit: int = 25
) -> tuple[list[ListedMember], int]:
    return await store.search_members(
        work.db, organization_id, wanted, now=work.now, limit=limit, offset=(page - 1) * limit
    )


async def describe_member(
    work: Work, member: Member, *, profile: dict[str, Any] | None, said_active: bool | None
) -> None:
    """Keep what a provider says about a member, as its next version."""
    await store.update_profile(work.db, member, profile=profile, said_active=said_active, now=work.now)


async def set_member_role(work: Work, member: Member, role: Role) -> None:
    """Write a member's role, without looking at other members' roles."""
    await store.update_role(work.db, member.id, role, now=work.now)


async def restore_member(work: Work, member: Member, role: Role) -> None:
    """Give a member who was added again the role from before; one who belonged already need not accept again."""
    await set_member_role(work, member, role)
    await store.update_accepted_member(work.db, member.organization_id, member.user.id, now=work.now)


async def set_member_active(work: Work, member: Member, *, active: bool) -> None:
    """Activate or deactivate a membership; one that is not accepted yet is never active."""
    if not member.pending:
        await store.update_active(work.db, member.id, active=active, now=work.now)


async def ask_member(work: Work, member: Member) -> None:
    """Make a membership one that the owner of the account has yet to accept."""
    await store.update_asked(work.db, member.id, now=work.now)


async def close_account(work: Work, organization: Organization, user: User) -> None:
    """Close a member's account on behalf of the organization; one that is already closed stays as it is."""
    if user.is_admin:
        await check_another_admin(work, user)
    await close_managed_account(work.db, user.id, organization.id, now=work.now)
    await work.record(MemberSuspended(user_id=user.id, email=user.email, organization_id=organization.id))


async def reopen_account(work: Work, organization: Organization, member: Member) -> None:
    """Open an account that this organization has closed; what an operator has closed stays closed."""
    user = member.user
    other = None if member.is_in_domain else await store.find_other_suspender(work.db, user.id, organization.id)
    if await reopen_managed_account(work.db, user.id, organization.id, still_closed_by=other, now=work.now):
        await work.record(MemberReinstated(user_id=user.id, email=user.email, organization_id=organization.id))


async def end_membership(work: Work, organization: Organization, user: User) -> bool:
    if not await store.delete_membership(work.db, organization.id, user.id):
        return False
    await work.record(MemberRemoved(user_id=user.id, email=user.email, organization_id=organization.id))
    return True


def is_administrator(role: Role) -> bool:
    return role in ADMINISTRATORS


def may_decide_about(role: Role, member: Role) -> bool:
    """Return whether someone may change, suspend or remove a member: owners are the concern of owners."""
    return role is Role.OWNER or (role is Role.ADMIN and member is not Role.OWNER)


def list_grantable(role: Role) -> tuple[Role, ...]:
    if role is Role.OWNER:
        return (Role.MEMBER, Role.ADMIN, Role.OWNER)
    return (Role.MEMBER, Role.ADMIN) if role is Role.ADMIN else ()


async def begin_administration(work: Work, organization_id: UUID, user_id: UUID) -> Administration:
    """Wait for other changes of an organization, then read it; users who may no longer change it find nothing.

    The host's lock of a member is taken before, as by identity providers.
    """
    await lock_organization(work.db, organization_id)
    role = await store.find_role(work.db, organization_id, user_id)
    if role is None or not is_administrator(role):
        raise NotFound
    organization = await get_organization_by_id(work, organization_id)
    return Administration(organization=organization, user_id=user_id, role=role)


def check_may_decide(administration: Administration, member: Member) -> None:
    if not may_decide_about(administration.role, member.role):
        raise errors.OwnerRequired


def check_may_grant(administration: Administration, role: Role) -> None:
    if role not in list_grantable(administration.role):
        raise errors.OwnerRequired


async def check_may_leave(work: Work, administration: Administration, member: Member) -> None:
    """Refuse to suspend or remove oneself, an owner without being one, or the last owner."""
    check_may_decide(administration, member)
    if member.user.id == administration.user_id:
        raise errors.OwnMembershipProtected
    await _check_another_owner(work, member)


async def change_member_role(work: Work, administration: Administration, member: Member, role: Role) -> None:
    """Give a member another role; there is always an owner who can sign in."""
    check_may_decide(administration, member)
    check_may_grant(administration, role)
    if role is not Role.OWNER:
        await _check_another_owner(work, member)
    await set_member_role(work, member, role)


async def _insert(
    work: Work, organization: Organization, user: User, *, role: Role, active: bool, member_id: UUID
) -> Membership:
    if await is_leaving(work.db, user.id):
        raise errors.AccountDeletionPending
    membership = Membership(
        id=member_id,
        organization_id=organization.id,
        user_id=user.id,
        role=role,
        active=active,
        created_at=work.now,
        updated_at=work.now,
    )
    try:
        await store.insert_membership(work.db, membership)
    except asyncpg.UniqueViolationError:
        raise errors.MemberAlreadyExists from None
    except asyncpg.ForeignKeyViolationError as fault:
        if fault.constraint_name != store.OF_ORGANIZATION:
            raise
        raise errors.OrganizationNotFound from None
    await work.record(MemberAdded(user_id=user.id, email=user.email, organization_id=organization.id))
    return membership


async def _check_another_owner(work: Work, member: Member) -> None:
    if member.role is not Role.OWNER:
        return
    if not await store.has_other_owner(work.db, member.organization_id, member.user.id):
        raise errors.LastOwnerRequired
