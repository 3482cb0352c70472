"""The one place where someone signs up, joins, leaves or loses access, with all consequences."""

from uuid import UUID

from msgspec.structs import replace

from openslot.domains.access.errors import InvalidPassword
from openslot.domains.access.limits.operations import by_stranger, counted
from openslot.domains.access.models import SecondFactorNeeded, SignedIn
from openslot.domains.access.operations import end_sessions, let_in, use_setup_link
from openslot.domains.access.passwords import STRANGERS, check_password, hash_password, is_password
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.errors import EmailAlreadyExists, InvalidInvitation
from openslot.domains.accounts.events import SignUpVerified
from openslot.domains.accounts.invitations.operations import invite_if_allowed, invite_within_limits, use_invitation
from openslot.domains.accounts.members.operations import (
    Administration,
    add_described_member,
    ask_member,
    check_may_grant,
    close_account,
    end_membership,
    get_listed_member,
    get_member_by_user,
    reopen_account,
)
from openslot.domains.accounts.members.store import list_managing
from openslot.domains.accounts.models import (
    Invitation,
    ListedMember,
    Member,
    Organization,
    Role,
    SignUp,
    User,
    UserWanted,
)
from openslot.domains.accounts.operations import (
    add_user,
    claim_account,
    find_user_by_email,
    is_unclaimed,
    note_user_left,
    replace_password,
    set_first_step,
    set_user_disabled,
)
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.accounts.organizations.store import has_domain_of
from openslot.domains.accounts.plans import Plan
from openslot.domains.accounts.rules import check_user
from openslot.domains.accounts.store import lock_host, lock_leavers
from openslot.domains.allowances.operations import find_account
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import LEFT, UNAVAILABLE
from openslot.domains.event_types.operations import add_first_event_type, draft_event_type
from openslot.domains.people import store, team_leavers
from openslot.domains.schedules.operations import add_schedule
from openslot.domains.wait_list.operations import close_wait_lists
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Work, recorded_together


async def welcome_user(work: Work, wanted: UserWanted, *, password_hash: str | None = None) -> User:
    """Open an account with everything a new host needs: working hours and a first event type."""
    user = await add_user(work, wanted, password_hash=password_hash)
    schedule = await add_schedule(work, user)
    first = draft_event_type(work, schedule, name="30 minute meeting", slug="30min", duration_minutes=30)
    await add_first_event_type(work, schedule, first)
    return user


async def _welcome_in_zone(work: Work, wanted: UserWanted, *, password_hash: str) -> User:
    """Open an account of someone who has chosen a time zone: the first steps do not ask for it again."""
    user = await welcome_user(work, wanted, password_hash=password_hash)
    await set_first_step(work, user, 2)
    return user


async def set_up_installation(
    work: Work, token: str, wanted: UserWanted, *, password: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Use up the set-up link, open the first account as an administrator, and sign its owner in."""
    check_password(password)
    password_hash = await hash_password(password)
    first = replace(wanted, plan=Plan.BUSINESS, is_admin=True)
    async with work.transaction():
        await use_setup_link(work, token)
        user = await _welcome_in_zone(work, first, password_hash=password_hash)
        return await let_in(work, user, password_hash=password_hash, user_agent=user_agent)


async def invite_member(
    work: Work, administration: Administration, *, email: str, name: str, role: Role
) -> ListedMember:
    """Ask someone to join an organization; whose address is in a verified domain joins at once.

    Who has no account gets one, which is theirs once they have accepted.
    """
    check_may_grant(administration, role)
    organization = administration.organization
    user = await find_user_by_email(work, email)
    in_domain = await has_domain_of(work.db, organization.id, email)
    if user is None:
        inviter = await find_account(work, work.actor.user_id)
        is_of_anybody = inviter is not None and not inviter.is_trusted
        wanted = UserWanted(email=email, name=name or email.partition("@")[0], signed_up=is_of_anybody)
        user = await welcome_user(work, wanted)
    member_id = await add_described_member(
        work, organization, user, profile=None, said_active=True, pending=not in_domain, role=role
    )
    listed = await get_listed_member(work, organization.id, member_id)
    if listed.can_be_invited:
        await invite_within_limits(work, organization, user)
    return listed


@recorded_together
async def remove_member(work: Work, organization: Organization, user: User) -> list[UUID]:
    """Remove a user from an organization: upcoming bookings are cancelled and named, sessions end, the account stays.

    If the organization does not manage the account, only the membership ends, and what they host for its teams.
    """
    await lock_leavers(work.db, [user.id])
    member = await get_member_by_user(work, organization, user)
    await end_membership(work, organization, user)
    of_teams = await team_leavers.leave_organization(work, organization, user)
    if not member.is_managed:
        return of_teams
    await close_wait_lists(work, user)
    cancelled = await handovers.cancel_upcoming(
        work, user, reason=LEFT.fill(host=user.name, organization=organization.name)
    )
    # The user's row is locked before the sessions, in the same order as by a change of password.
    await note_user_left(work, user)
    await end_sessions(work, user)
    return [*of_teams, *cancelled]


@recorded_together
async def suspend_member(work: Work, organization: Organization, user: User, *, keeps_bookings: bool) -> list[UUID]:
    """Close a member's sign-in, keys and page, and cancel upcoming bookings unless they are to be kept."""
    await lock_leavers(work.db, [user.id])
    await close_account(work, organization, user)
    cancelled: list[UUID] = []
    if not keeps_bookings:
        await team_leavers.hand_over(work, organization.id, user)
        reason = LEFT.fill(host=user.name, organization=organization.name)
        await close_wait_lists(work, user)
        cancelled = await handovers.cancel_upcoming(work, user, reason=reason)
    await end_sessions(work, user)
    return cancelled


async def reinstate_member(work: Work, organization: Organization, member: Member) -> None:
    """Open a suspended member's account again; what was cancelled stays cancelled."""
    await lock_host(work.db, member.user.id)
    await reopen_account(work, organization, member)


async def use_accepted_invitation(work: Work, invitation: Invitation, *, password_hash: str | None) -> None:
    """Use up an invitation: the account gets its password, if it still has none, and its owner joins."""
    await use_invitation(work, invitation)
    if password_hash is not None and not await replace_password(work, invitation.user, old=None, new=password_hash):
        raise InvalidInvitation


@recorded_together
async def disable_user(work: Work, user: User, *, reason: str | None = None) -> int:
    """Close an account's sign-in, keys and page at once, cancel its upcoming bookings, and return how many."""
    await lock_leavers(work.db, [user.id])
    if not await set_user_disabled(work, user, reason=reason):
        return 0
    await team_leavers.hand_over_everywhere(work, user)
    await close_wait_lists(work, user)
    cancelled = await handovers.cancel_upcoming(work, user, reason=UNAVAILABLE.fill(host=user.name))
    await end_sessions(work, user)
    return len(cancelled)


async def begin_sign_up(work: Work, wanted: UserWanted, *, password: str, browser: str) -> None:
    """Keep what was typed until the link in the mail is used; no connection is held while the password is hashed."""
    sign_ups.check_open(work)
    check_user(wanted)
    check_password(password)
    password_hash = await hash_password(password, STRANGERS)
    async with work.transaction():
        await sign_ups.request_sign_up(work, wanted, password_hash=password_hash, browser=browser)


def is_same_browser(sign_up: SignUp, browser: str) -> bool:
    return bool(browser) and fingerprint(browser) == sign_up.browser_hash


async def verify_sign_up(
    work: Work, token: str, *, browser: str, password: str, address: str, user_agent: str
) -> SignedIn | SecondFactorNeeded:
    """Open the account of a valid link and sign its owner in; the link is used up.

    If an identity provider created an account with this address and nobody has used it, the person who proves the
    address takes it over, and the organization no longer manages it.
    In another browser than the one that sent the form, the chosen password is asked for: otherwise somebody could sign
    up with another person's address, let that person use the link, and sign in with the password.
    """
    found = await sign_ups.get_sign_up(work, token)
    if not is_same_browser(found, browser):
        async with counted(work, by_stranger(f"sign-up {found.id}", address)):
            if not await is_password(password, found.password_hash, STRANGERS):
                raise InvalidPassword
    try:
        return await _open_account(work, token, found.email, user_agent=user_agent)
    except EmailAlreadyExists:
        # A provider may have opened the account at this moment: it is there now, and can be claimed.
        return await _open_account(work, token, found.email, user_agent=user_agent)


async def _open_account(work: Work, token: str, email: str, *, user_agent: str) -> SignedIn | SecondFactorNeeded:
    async with work.transaction():
        found = await sign_ups.lock_sign_up(work, token, email=email)
        wanted = UserWanted(email=found.email, name=found.name, zone=found.zone, locale=found.locale, signed_up=True)
        user = await _claim(work, found) or await _welcome_in_zone(work, wanted, password_hash=found.password_hash)
        await work.record(SignUpVerified(user_id=user.id, email=user.email, sign_up_id=found.id))
        await sign_ups.forget_sign_ups(work, found.email)
        return await let_in(work, user, password_hash=found.password_hash, user_agent=user_agent)


async def _claim(work: Work, sign_up: SignUp) -> User | None:
    """Give an unused account of a provider to whoever has proven that the address is theirs; None if it is none."""
    user = await find_user_by_email(work, sign_up.email)
    if user is None:
        return None
    await lock_leavers(work.db, [user.id])
    if not await is_unclaimed(work, user):
        return None
    for organization_id in await list_managing(work.db, user.id):
        await _let_go(work, await get_organization_by_id(work, organization_id), user)
    return await claim_account(
        work, user, name=sign_up.name, locale=sign_up.locale, password_hash=sign_up.password_hash
    )


async def _let_go(work: Work, organization: Organization, user: User) -> None:
    """Let an organization manage an account no longer: who was active is asked to join, others leave it."""
    acting = work.acting_as(replace(SYSTEM, organization_id=organization.id))
    await store.delete_held(work.db, organization.id, user.id)
    member = await get_member_by_user(work, organization, user)
    if not member.active:
        await remove_member(acting, organization, user)
        return
    await ask_member(work, member)
    await team_leavers.stand_down(acting, organization, user)
    await note_user_left(work, user)
    await invite_if_allowed(acting, organization, user)
