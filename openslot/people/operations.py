"""The one place where someone joins, leaves or is shut out, with all that follows."""

from msgspec.structs import replace

from openslot.access import operations as access
from openslot.access.models import SignedIn
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
    """Open an account with everything a new host needs: working hours, and a first thing to book."""
    user = await accounts.add_user(work, wanted, password_hash=password_hash)
    schedule = await schedules.add_schedule(work, user)
    first = event_types.draft(work, schedule, name="30 minute meeting", slug="30min", duration_minutes=30)
    await event_types.add_event_type(work, schedule, first)
    return user


async def set_up(work: Work, token: str, wanted: UserWanted, *, password: str, user_agent: str) -> SignedIn:
    """Use the set-up link up, open the first account, an administrator's, and sign its owner in."""
    check_password(password)
    password_hash = await hash_password(password)
    first = replace(wanted, plan=Plan.BUSINESS, is_admin=True)
    async with work.transaction():
        await access.use_setup_link(work, token)
        user = await welcome(work, first, password_hash=password_hash)
        return await access.let_in(work, user, password_hash=password_hash, user_agent=user_agent)


async def remove_member(work: Work, organization: Organization, user: User) -> None:
    """Take a user out of an organization: upcoming bookings are cancelled, sessions end, the account stays.

    Of an account that the organization does not manage, the membership ends and nothing else.
    """
    await lock_host(work.db, user.id)
    member = await members.get_member_by_user(work, organization, user)
    await accounts.remove_member(work, organization, user)
    if not member.is_managed:
        return
    await bookings.cancel_upcoming(work, user, reason=f"{user.name} is no longer with {organization.name}")
    # The user's row before the sessions, as a change of password locks them.
    await accounts.note_left(work, user)
    await access.end_sessions(work, user)


async def suspend_member(work: Work, organization: Organization, user: User, *, keeps_bookings: bool) -> None:
    """Close a member's account: sign-in, keys and page are shut, and upcoming bookings cancelled unless they stay."""
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
    """Use an invitation up: the account gets its password, where it has none, and its owner joins."""
    await invitations.use_invitation(work, invitation)
    if password_hash is not None:
        await accounts.set_password(work, invitation.user, password_hash)


async def disable_user(work: Work, user: User, *, reason: str | None = None) -> None:
    """Close an account: sign-in, keys and page are shut at once, and upcoming bookings are cancelled."""
    await lock_host(work.db, user.id)
    if await accounts.disable_user(work, user, reason=reason):
        await bookings.cancel_upcoming(work, user, reason=f"{user.name} is not available any more")
        await access.end_sessions(work, user)
