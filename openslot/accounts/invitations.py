"""Invitations: a link that works once and for a limited time, to take over an account or accept a membership."""

from datetime import datetime, timedelta
from uuid import UUID

from openslot.accounts import invitation_store as store
from openslot.accounts import member_store
from openslot.accounts.errors import InvitationInvalid
from openslot.accounts.events import InvitationAccepted, InvitationCreated
from openslot.accounts.models import Invitation, Organization, User
from openslot.core.ids import new_id
from openslot.core.secrets import fingerprint
from openslot.core.work import Runtime, Work

LASTS = timedelta(days=14)
PURPOSE = "invitation"


async def invite(work: Work, organization: Organization, user: User) -> UUID:
    """Make an invitation; an earlier one of the same organization becomes invalid."""
    invitation_id = new_id()
    await store.replace_invitation(
        work.db,
        invitation_id,
        organization.id,
        user.id,
        token_hash=fingerprint(invitation_token(work.runtime, invitation_id)),
        now=work.now,
        expires_at=work.now + LASTS,
    )
    created = InvitationCreated(
        user_id=user.id,
        email=user.email,
        invitation_id=invitation_id,
        organization_id=organization.id,
        organization_name=organization.name,
    )
    await work.record(created)
    return invitation_id


def invitation_url(runtime: Runtime, invitation_id: UUID) -> str:
    """Write the address of an invitation's page, which is the same when the mail is sent again."""
    return f"{runtime.settings.public_url}/invite/{invitation_token(runtime, invitation_id)}"


def invitation_token(runtime: Runtime, invitation_id: UUID) -> str:
    """Derive the token from the installation's key: only its hash is stored, in the database."""
    return runtime.signer.write_token(PURPOSE, invitation_id)


async def get_invitation(work: Work, token: str) -> Invitation:
    """Read an invitation that is still valid."""
    found = await store.find_invitation(work.db, fingerprint(token), now=work.now)
    if found is None:
        raise InvitationInvalid
    return found


async def use_invitation(work: Work, invitation: Invitation) -> None:
    """Use up an invitation: its owner has joined."""
    if not await store.use_invitation(work.db, invitation.id, now=work.now):
        raise InvitationInvalid
    user = invitation.user
    await member_store.update_accepted(work.db, invitation.organization_id, user.id, now=work.now)
    accepted = InvitationAccepted(
        user_id=user.id,
        email=user.email,
        invitation_id=invitation.id,
        organization_id=invitation.organization_id,
    )
    await work.record(accepted)


async def delete_old_invitations(work: Work, *, before: datetime, limit: int) -> int:
    """Remove invitations that nobody can use any more."""
    return await store.delete_old_invitations(work.db, before=before, limit=limit)
