"""The one place where an organization is deleted: departures are settled, memberships end, and all it had is gone."""

from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.errors import OwnerRequired
from openslot.domains.accounts.events import OrganizationDeleted
from openslot.domains.accounts.members.store import find_role, list_administrators
from openslot.domains.accounts.models import Organization, Role, User
from openslot.domains.accounts.organizations.operations import (
    delete_emptied_organization,
    end_memberships,
    lock_organization_for_deletion,
)
from openslot.domains.accounts.organizations.store import Belongings, count_belongings
from openslot.domains.accounts.plans import Plan
from openslot.domains.change_log.models import ChangeAction, ChangeAuthor, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.domains.people import departures, store, team_leavers
from openslot.domains.teams.operations import list_teams
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work, recorded_together

TELL_DELETED = "organization.tell_deleted"


class DeletionNotice(Struct, frozen=True, kw_only=True):
    """A notice that an organization was deleted: to whom, and by whom."""

    organization_name: str
    by: str | None
    """The name of the member who deleted it; None if someone who runs the platform did."""
    administrator_id: UUID


class OrganizationDeletionPreview(Struct, frozen=True, kw_only=True):
    belongings: Belongings
    waiting: int
    to_cancel: int
    """How many upcoming bookings their approval cancels."""


async def preview_deletion(work: Work, organization: Organization) -> OrganizationDeletionPreview:
    held = await departures.list_held(work, organization)
    return OrganizationDeletionPreview(
        belongings=await count_belongings(work.db, organization.id),
        waiting=len(held),
        to_cancel=sum(each.counts.cancelled for each in held),
    )


async def delete_as_owner(work: Work, organization: Organization, user: User) -> OrganizationDeleted:
    await _lock(work, organization)
    # The role may have been taken away while the password was checked.
    role = await find_role(work.db, organization.id, user.id)
    if role is None:
        raise NotFound
    if role is not Role.OWNER:
        raise OwnerRequired
    return await _delete(work, organization, by=user.name)


async def delete_as_operator(work: Work, organization: Organization) -> OrganizationDeleted:
    await _lock(work, organization)
    return await _delete(work, organization, by=None)


async def log_deletion(work: Work, author: ChangeAuthor, deleted: OrganizationDeleted, *, plan: Plan) -> None:
    """Write a deletion to the log of the platform: that of the organization is deleted with it."""
    before = {
        "name": deleted.name,
        "slug": deleted.slug,
        "plan": plan,
        "members": deleted.members,
        "domains": ", ".join(deleted.domains),
    }
    change = NewChange(
        action=ChangeAction.ORGANIZATION_DELETED,
        author=author,
        subject=deleted.name,
        subject_id=deleted.organization_id,
        before=before,
        after={"cancelled_bookings": deleted.cancelled_bookings},
    )
    await log_change(work, change)


async def _lock(work: Work, organization: Organization) -> None:
    """Take the locks in the order of everyone else: hosts first, then the organization."""
    await store.lock_all_of(work.db, organization.id)
    await lock_organization_for_deletion(work, organization.id)


@recorded_together
async def _delete(work: Work, organization: Organization, *, by: str | None) -> OrganizationDeleted:
    administrators = await list_administrators(work.db, organization.id)
    had = await count_belongings(work.db, organization.id)
    # Nobody could decide about them later, and the provider has said that these members have left.
    cancelled = await departures.approve_all(work, organization)
    for listed in await list_teams(work, organization):
        cancelled += len(await team_leavers.delete_team(work, listed.team))
    await end_memberships(work, organization)
    await delete_emptied_organization(work, organization)
    deleted = OrganizationDeleted(
        organization_id=organization.id,
        name=organization.name,
        slug=organization.slug,
        members=had.members,
        domains=tuple(had.domains),
        cancelled_bookings=cancelled,
    )
    await work.record(deleted)
    for each in administrators:
        notice = DeletionNotice(organization_name=organization.name, by=by, administrator_id=each)
        key = f"{organization.id}:{each}"
        await work.plan(TELL_DELETED, key, due_at=work.now, payload=notice, tenant_id=each)
    return deleted
