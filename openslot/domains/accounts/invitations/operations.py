"""Invitations: a link that works once and for a limited time, to take over an account or accept a membership."""

from datetime import timedelta
from uuid import UUID

from openslot.domains.accounts import errors
from openslot.domains.accounts.events import InvitationAccepted, InvitationCreated
from openslot.domains.accounts.invitations import store
from openslot.domains.accounts.members.operations import end_membership
from openslot.domains.accounts.members.store import find_listed_member, find_member, update_accepted_member
from openslot.domains.accounts.models import Invitation, InvitationLimit, ListedMember, Member, Organization, User
from openslot.domains.accounts.organizations.store import lock_organization
from openslot.domains.accounts.store import delete_unused_account
from openslot.domains.allowances.models import Cost
from openslot.domains.allowances.operations import causes_of, spend
from openslot.platform.core.ids import fingerprint, new_id
from openslot.platform.core.work import Runtime, Work

INVITATION_LASTS = timedelta(days=14)
AGAIN_AFTER = timedelta(minutes=5)
MAX_A_DAY = 500
MAX_TO_ONE_A_DAY = 5
MAX_TO_ONE_A_WEEK = 10
DAY, WEEK = timedelta(days=1), timedelta(days=7)
PURPOSE = "invitation"


async def make_invitation(work: Work, organization: Organization, user: User) -> UUID:
    """Make an invitation and count it; an earlier one of the same organization becomes invalid."""
    invitation_id = new_id()
    await store.replace_invitation(
        work.db,
        invitation_id,
        organization.id,
        user.id,
        token_hash=fingerprint(invitation_token(work.runtime, invitation_id)),
        now=work.now,
        expires_at=work.now + INVITATION_LASTS,
    )
    await store.insert_sent(work.db, organization.id, user.email, now=work.now)
    await store.set_refused(work.db, organization.id, user.id, None)
    created = InvitationCreated(
        user_id=user.id,
        email=user.email,
        invitation_id=invitation_id,
        organization_id=organization.id,
        organization_name=organization.name,
    )
    await work.record(created)
    return invitation_id


async def renew_invitation(work: Work, organization: Organization, listed: ListedMember) -> None:
    """Send a new invitation in place of the last one, unless it was accepted or sent a moment ago."""
    member = listed.member
    made_at = await store.lock_invitation(work.db, organization.id, member.user.id)
    # The owner of the account may have accepted while this waited.
    now_listed = await find_listed_member(work.db, organization.id, member.id, now=work.now)
    if now_listed is None or not now_listed.can_be_invited:
        raise errors.InvitationNotPending
    if made_at is not None and now_listed.invited_at is not None and made_at > work.now - AGAIN_AFTER:
        raise errors.InvitationRecentlySent
    await invite_within_limits(work, organization, member.user)


async def withdraw_invitation(work: Work, organization: Organization, member: Member) -> None:
    """Take an invitation back, unless it was accepted meanwhile; an account that was opened for it is deleted."""
    await store.lock_invitation(work.db, organization.id, member.user.id)
    current = await find_member(work.db, organization.id, member.id, now=work.now)
    if current is None or not current.pending:
        raise errors.InvitationNotPending
    await store.delete_invitation(work.db, organization.id, member.user.id)
    await end_membership(work, organization, member.user)
    await delete_unused_account(work.db, member.user.id, opened_at=member.created_at)


async def invite_within_limits(work: Work, organization: Organization, user: User) -> None:
    await lock_organization(work.db, organization.id)
    await store.lock_recipient(work.db, user.email)
    limits = (
        (InvitationLimit.ORGANIZATION, MAX_A_DAY, DAY),
        (InvitationLimit.RECIPIENT, MAX_TO_ONE_A_DAY, DAY),
        (InvitationLimit.RECIPIENT, MAX_TO_ONE_A_WEEK, WEEK),
    )
    for limit, max_, window in limits:
        by_organization = limit is InvitationLimit.ORGANIZATION
        since = work.now - window
        earlier = await store.find_sent(
            work.db, organization.id, user.email, nth=max_, since=since, by_organization=by_organization
        )
        if earlier is not None:
            raise errors.InvitationLimitExceeded(limit, max_=max_, wait=earlier - since)
    await spend(work, Cost.MAIL, await causes_of(work))
    await make_invitation(work, organization, user)


async def invite_if_allowed(work: Work, organization: Organization, user: User) -> None:
    """Make an invitation; if a limit is reached, keep which one, so that an administrator can send it later."""
    try:
        await invite_within_limits(work, organization, user)
    except errors.InvitationLimitExceeded as refusal:
        await store.set_refused(work.db, organization.id, user.id, refusal.limit)


def invitation_url(runtime: Runtime, invitation_id: UUID) -> str:
    """Write the address of an invitation's page, which is the same when the mail is sent again."""
    return f"{runtime.settings.public_url}/invite/{invitation_token(runtime, invitation_id)}"


def invitation_token(runtime: Runtime, invitation_id: UUID) -> str:
    """Derive the token from the installation's key: only its hash is stored, in the database."""
    return runtime.signer.write_token(PURPOSE, invitation_id)


async def get_invitation(work: Work, token: str) -> Invitation:
    found = await store.find_invitation(work.db, fingerprint(token), now=work.now)
    if found is None:
        raise errors.InvalidInvitation
    return found


async def use_invitation(work: Work, invitation: Invitation) -> None:
    if not await store.use_invitation(work.db, invitation.id, now=work.now):
        raise errors.InvalidInvitation
    user = invitation.user
    await update_accepted_member(work.db, invitation.organization_id, user.id, now=work.now)
    accepted = InvitationAccepted(
        user_id=user.id, email=user.email, invitation_id=invitation.id, organization_id=invitation.organization_id
    )
    await work.record(accepted)
