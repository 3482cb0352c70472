"""Decisions of an organization's administrators: made one after the other, and only by roles that may make them."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts import member_store
from openslot.accounts.errors import LastOwner, OwnerRequired, OwnMembershipProtected
from openslot.accounts.members import set_role
from openslot.accounts.models import Member, Organization, Role
from openslot.accounts.organization_store import lock_organization
from openslot.accounts.organizations import get_organization_by_id
from openslot.core.errors import NotFound
from openslot.core.work import Work

ADMINISTRATORS = frozenset({Role.OWNER, Role.ADMIN})


def is_administrator(role: Role) -> bool:
    """Return whether someone looks after the organization."""
    return role in ADMINISTRATORS


def may_decide_about(role: Role, member: Role) -> bool:
    """Return whether someone may change, suspend or remove a member: owners are the concern of owners."""
    return role is Role.OWNER or (role is Role.ADMIN and member is not Role.OWNER)


def list_grantable(role: Role) -> tuple[Role, ...]:
    """List the roles that someone may give."""
    if role is Role.OWNER:
        return (Role.MEMBER, Role.ADMIN, Role.OWNER)
    return (Role.MEMBER, Role.ADMIN) if role is Role.ADMIN else ()


class Administration(Struct, frozen=True, kw_only=True):
    """An organization, and who decides about it with which role; both stay as they are until the commit."""

    organization: Organization
    user_id: UUID
    role: Role


async def begin_administration(work: Work, organization_id: UUID, user_id: UUID) -> Administration:
    """Wait for other changes of an organization, then read it; users who may no longer change it find nothing.

    The host's lock of a member is taken before, as by identity providers.
    """
    await lock_organization(work.db, organization_id)
    role = await member_store.find_role(work.db, organization_id, user_id)
    if role is None or not is_administrator(role):
        raise NotFound
    organization = await get_organization_by_id(work, organization_id)
    return Administration(organization=organization, user_id=user_id, role=role)


def check_may_decide(administration: Administration, member: Member) -> None:
    """Refuse a decision about an owner by anyone but an owner."""
    if not may_decide_about(administration.role, member.role):
        raise OwnerRequired


def check_may_grant(administration: Administration, role: Role) -> None:
    """Refuse to give a role that is above one's own."""
    if role not in list_grantable(administration.role):
        raise OwnerRequired


async def check_may_leave(work: Work, administration: Administration, member: Member) -> None:
    """Refuse to suspend or remove oneself, an owner without being one, or the last owner."""
    check_may_decide(administration, member)
    if member.user.id == administration.user_id:
        raise OwnMembershipProtected
    await _check_another_owner(work, member)


async def change_role(work: Work, administration: Administration, member: Member, role: Role) -> None:
    """Give a member another role; there is always an owner who can sign in."""
    check_may_decide(administration, member)
    check_may_grant(administration, role)
    if role is not Role.OWNER:
        await _check_another_owner(work, member)
    await set_role(work, member, role)


async def _check_another_owner(work: Work, member: Member) -> None:
    if member.role is not Role.OWNER:
        return
    if not await member_store.has_other_owner(work.db, member.organization_id, member.user.id):
        raise LastOwner
