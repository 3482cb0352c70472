"""The one place where someone joins, leaves or loses access, with all consequences."""

from msgspec.structs import replace

from openslot.access import operations as access
from openslot.access.models import SecondFactorNeeded, SignedIn
from openslot.access.passwords import check_password, hash_password
from openslot.accounts import invitations, members
from openslot.accounts import operations as accounts
from openslot.accounts.host_lock import lock_host
from openslot.accounts.models import Invitation, Member, Organization, User, UserWanted
from openslot.accounts.plans import Plan
from openslot.bookings import operations as bookings
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.schedules import operations as schedules


async def welcome(work: Work, wanted: UserWanted, *, password_hash: str | None = None) -> User:
    """Open an account with everything a new host needs: working hours and a first event type."""
    user = await accounts.add_user(work, wanted, password_hash=password_hash)
    schedule = await schedules.add_schedule(work, user)
    first = event_types.draft(work, schedule, name="30 minute meeting", slug="30min", duration_minutes=30)
    await event_types.add_first_event_type(work, schedule, first)
    return user


async def set_up(
    work: Work, token: str, wanted: UserWanted, *, password: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Use up the set-up link, open the first account as an administrator, and sign its owner in."""
    check_password(password)
    password_hash = await hash_password(password)
    first = replace(wanted, plan=Plan.BUSINESS, is_admin=True)
    async with work.transaction():
        await access.use_setup_link(work, token)
        user = await welcome(work, first, password_hash=password_hash)
        return await access.let_in(work, user, password_hash=password_hash, user_agent=user_agent)


async def remove_member(work: Work, organization: Organization, user: User) -> None:
    """Remove a user from an organization: upcoming bookings are cancelled, sessions end, the account stays.

    If the organization does not manage the account, only the membership ends.
    """
    await lock_host(work.db, user.id)
    member = await members.get_member_by_user(work, organization, user)
    await accounts.remove_member(work, organization, user)
    if not member.is_managed:
        return
    await bookings.cancel_upcoming(work, user, reason=f"{user.name} is no longer with {organization.name}")
    # The user's row is locked before the sessions, in the same order as by a change of password.
    await accounts.note_left(work, user)
    await access.end_sessions(work, user)


async def suspend_member(work: Work, organization: Organization, user: User, *, keeps_bookings: bool) -> None:
    """Close a member's sign-in, keys and page, and cancel upcoming bookings unless they are to be kept."""
    await lock_host(work.db, user.id)
    await members.close_account(work, organization, user)
    if not keeps_bookings:
        await bookings.cancel_upcoming(work, user, reason=f"{user.name} is no longer with {organization.name}")
    await access.end_sessions(work, user)


async def reinstate_member(work: Work, organization: Organization, member: Member) -> None:
    """Open a suspended member's account again; what was cancelled stays cancelled."""
    await lock_host(work.db, member.user.id)
    await members.reopen_account(work, organization, member)


async def accept_invitation(work: Work, invitation: Invitation, *, password_hash: str | None) -> None:
    """Use up an invitation: the account gets its password, if it has none, and its owner joins."""
    await invitations.use_invitation(work, invitation)
    if password_hash is not None:
        await accounts.set_password(work, invitation.user, password_hash)


async def disable_user(work: Work, user: User, *, reason: str | None = None) -> int:
    """Close an account's sign-in, keys and page at once, cancel its upcoming bookings, and return how many."""
    await lock_host(work.db, user.id)
    if not await accounts.disable_user(work, user, reason=reason):
        return 0
    cancelled = await bookings.cancel_upcoming(work, user, reason=f"{user.name} is not available any more")
    await access.end_sessions(work, user)
    return cancelled
