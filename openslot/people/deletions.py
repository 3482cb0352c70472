"""The one place where an account is deleted: closed at once, its bookings cancelled, and erased when all is done."""

from datetime import timedelta

from msgspec import Struct

from openslot.access import operations as access
from openslot.accounts import deletion_store as store
from openslot.accounts import members
from openslot.accounts import operations as accounts
from openslot.accounts.administrators import check_another_admin
from openslot.accounts.errors import AccountIsBeingDeleted, ManagedByOrganization, OwnsOrganization
from openslot.accounts.events import UserDeletionBegun
from openslot.accounts.host_lock_store import lock_host
from openslot.accounts.models import AccountDeletion, DeletionState, Member, Role, User
from openslot.accounts.organizations import get_organization_by_id
from openslot.core.tenants import count_unfinished
from openslot.core.work import Work
from openslot.people import preview_store
from openslot.people.preview_store import UpcomingMeeting

# The retries of a calendar server that is down take four days.
LOCK_RETRIES = timedelta(days=7)
MOST_SHOWN = 20


class DeletionPreview(Struct, frozen=True, kw_only=True):
    """What the deletion of an account would do."""

    upcoming: list[UpcomingMeeting]
    """The first of the bookings that would be cancelled, soonest first."""
    counts: dict[str, int]
    """How many there are of what would be deleted, by its name."""


class ShownDeletion(Struct, frozen=True, kw_only=True):
    """A deletion that is not done, as the operator sees it."""

    deletion: AccountDeletion
    unfinished: int
    """How many effects are waited for."""


async def check_may_delete(work: Work, user: User) -> None:
    """Refuse to delete an account that others depend on."""
    await check_organizations(work, user)
    if user.is_admin:
        await check_another_admin(work, user)


async def check_organizations(work: Work, user: User) -> None:
    """Refuse to delete an account that owns an organization or is managed by one."""
    for organization, member in await list_memberships(work, user):
        if member.role is Role.OWNER:
            raise OwnsOrganization(organization)
        if member.is_managed:
            raise ManagedByOrganization(organization)


async def delete_account(work: Work, user: User, *, message: str | None = None) -> None:
    """Close an account at once and for good; the worker cancels its bookings, waits for what follows, and erases it.

    `message` is what invitees are told.
    """
    await lock_host(work.db, user.id)
    await check_may_delete(work, user)
    # Closed before anything is cancelled: a booking that is made in this moment is either refused or cancelled too.
    if not await store.close_for_good(work.db, user.id, now=work.now):
        raise AccountIsBeingDeleted
    finish_by = work.now + LOCK_RETRIES
    await store.insert_deletion(
        work.db,
        AccountDeletion(
            user_id=user.id,
            state=DeletionState.CANCELLING,
            requested_at=work.now,
            requested_by=work.actor,
            message=message or None,
            finish_by=finish_by,
        ),
    )
    for _, member in await list_memberships(work, user):
        await accounts.remove_member(work, await get_organization_by_id(work, member.organization_id), user)
    await work.record(UserDeletionBegun(user_id=user.id, email=user.email, finish_by=finish_by))
    await access.end_sessions(work, user)


async def preview_deletion(work: Work, user: User) -> DeletionPreview:
    """Return what the deletion of an account would cancel and delete."""
    upcoming = await preview_store.list_upcoming(work.db, user.id, now=work.now, limit=MOST_SHOWN)
    counts = await preview_store.count_belongings(work.db, user.id, now=work.now)
    return DeletionPreview(upcoming=upcoming, counts=counts)


async def list_deletions(work: Work) -> list[ShownDeletion]:
    """List the deletions that are not done, oldest first, with what each waits for."""
    found = await store.list_under_way(work.db, limit=1_000)
    return [ShownDeletion(deletion=each, unfinished=await count_unfinished(work.db, each.user_id)) for each in found]


async def list_memberships(work: Work, user: User) -> list[tuple[str, Member]]:
    """List the organizations that a user belongs to, each with the user's place in it."""
    return [
        (name, await members.get_member(work, each.organization_id, each.id))
        for name, each in await store.list_memberships(work.db, user.id)
    ]
