"""Who may change the address of an account: its owner, or the identity provider of its organization."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts import member_store as store
from openslot.accounts.errors import AddressManaged
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
    """Give an account the address from a provider, unless it would hand an organization over; return whether it did.

    Anyone who can choose the address can reset the password. So an administrator with a token would become the owner,
    and no organization gets the platform in this way.
    """
    if await _keeps_address(work, user):
        kept = AddressKept(user_id=user.id, organization_name=organization.name, email=email)
        await work.plan(TELL_KEPT, str(user.id), due_at=work.now, payload=kept, tenant_id=user.id)
        return False
    await replace_address(work, user, email)
    return True


async def check_own_address(work: Work, user: User) -> None:
    """Refuse a user whose address an identity provider decides about."""
    managed_by = None if await _keeps_address(work, user) else await store.find_managing_organization(work.db, user.id)
    if managed_by is not None:
        raise AddressManaged(managed_by)


async def replace_address(work: Work, user: User, email: str) -> None:
    """Give an account another address; links that were sent to the former one end."""
    await change_email(work, user, email)
    # The reader of the former address may be another person, and an open link sets the password.
    await delete_open_invitations(work.db, user.id)


async def _keeps_address(work: Work, user: User) -> bool:
    return user.is_admin or await store.owns_organization(work.db, user.id)
