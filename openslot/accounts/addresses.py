"""Addresses of accounts that a provider wants to change: an owner of an organization keeps the present one."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts import member_store as store
from openslot.accounts.invitation_store import delete_open_invitations
from openslot.accounts.models import Organization, User
from openslot.accounts.operations import change_email
from openslot.core.work import Work

TELL_KEPT = "mail.address_kept"


class AddressKept(Struct, frozen=True, kw_only=True):
    """An address that a provider has for an owner, and that the account did not get."""

    user_id: UUID
    organization_name: str
    email: str


async def change_address(work: Work, organization: Organization, user: User, email: str) -> bool:
    """Give an account the address that a provider says, unless it would hand an organization over; tell whether it did.

    Whoever chooses the address can have the password replaced. So an administrator with a token would become the owner,
    and no organization gets the platform in this way.
    """
    if user.is_admin or await store.owns_organization(work.db, user.id):
        kept = AddressKept(user_id=user.id, organization_name=organization.name, email=email)
        await work.plan(TELL_KEPT, str(user.id), due_at=work.now, payload=kept, tenant_id=user.id)
        return False
    await change_email(work, user, email)
    # Whoever reads the former address may be another person, and an open link sets the password.
    await delete_open_invitations(work.db, user.id)
    return True
