"""The deletion of an organization, as far as accounts know of it: who belonged to it, and what it had."""

from uuid import UUID

from openslot.accounts import organization_deletion_store as store
from openslot.accounts.errors import OrganizationNotFound
from openslot.accounts.events import MemberRemoved
from openslot.accounts.models import Organization
from openslot.accounts.organization_deletion_store import Belongings
from openslot.accounts.store import delete_unused_account
from openslot.core.work import Work

RECORDED_AT_ONCE = 500


async def count_belongings(work: Work, organization: Organization) -> Belongings:
    """Return what an organization has."""
    return await store.count_belongings(work.db, organization.id)


async def lock_for_deletion(work: Work, organization_id: UUID) -> None:
    """Wait for everyone who changes an organization or its members, and keep others from it until the commit."""
    if not await store.lock_for_deletion(work.db, organization_id):
        raise OrganizationNotFound


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
