"""What accounts refuse."""

from collections.abc import Mapping
from datetime import timedelta

from openslot.accounts.models import InvitationLimit
from openslot.core.errors import Conflict, Forbidden, NotFound
from openslot.i18n import PluralText, Text


class UserNotFound(NotFound):
    code = "user_not_found"
    message = Text("User not found")


class OrganizationNotFound(NotFound):
    code = "organization_not_found"
    message = Text("Organization not found")


class EmailTaken(Conflict):
    code = "email_taken"
    message = Text("An account with this email address already exists")
    faults: Mapping[str, str] = {"email": Text("is taken")}


class UsernameTaken(Conflict):
    code = "username_taken"
    message = Text("This username is taken")
    faults: Mapping[str, str] = {"username": Text("is taken")}


class TooManyUsernames(Conflict):
    code = "too_many_usernames"
    message = Text("You have changed your username too often")
    faults: Mapping[str, str] = {
        "username": Text("must be one of your former usernames, until one of them is no longer reserved")
    }


class UsernameNotReserved(NotFound):
    code = "username_not_reserved"
    message = Text("This username is no longer reserved for you")


class AdministratorProtected(Forbidden):
    code = "administrator_protected"
    message = Text("Agents can't change the username of an administrator")
    faults: Mapping[str, str] = {"username": Text("can't be changed by an agent, because the user is an administrator")}


class SlugTaken(Conflict):
    code = "organization_slug_taken"
    message = Text("An organization with this slug already exists")
    faults: Mapping[str, str] = {"slug": Text("is taken")}


class DomainTaken(Conflict):
    code = "domain_taken"
    message = Text("This domain belongs to another organization")
    faults: Mapping[str, str] = {"domain": Text("is taken")}


class AlreadyMember(Conflict):
    code = "already_member"
    message = Text("This user is already a member")


class LastAdministrator(Conflict):
    code = "last_administrator"
    message = Text("This is the only administrator. Make another user an administrator first")


class LastOwner(Conflict):
    code = "last_owner"
    message = Text("This is the only owner. Make another member an owner first")


class OwnerRequired(Forbidden):
    code = "owner_required"
    message = Text("Only an owner can do this. Ask an owner of your organization")


class OwnMembershipProtected(Conflict):
    code = "own_membership_protected"
    message = Text("You can't suspend or remove yourself. Ask another administrator")


class OrganizationPlanNeeded(Forbidden):
    code = "organization_plan_needed"
    message = Text("Organizations are part of the Business plan")


class InvitationTooSoon(Conflict):
    code = "invitation_too_soon"
    message = Text("The last invitation was sent less than 5 minutes ago. Wait, then send it again")


class TooManyInvitations(Conflict):
    code = "too_many_invitations"

    def __init__(self, limit: InvitationLimit, *, max_: int, wait: timedelta) -> None:
        hours = -(-wait // timedelta(hours=1))
        super().__init__(
            PluralText(
                "Your organization has sent %(max)s invitations within a day. Try again in %(count)s hour",
                "Your organization has sent %(max)s invitations within a day. Try again in %(count)s hours",
                count=hours,
                max=max_,
            )
            if limit is InvitationLimit.ORGANIZATION
            else PluralText(
                "This address was sent as many invitations as allowed. Try again in %(count)s hour",
                "This address was sent as many invitations as allowed. Try again in %(count)s hours",
                count=hours,
            )
        )
        self.limit = limit
        self.retry_after = -(-wait // timedelta(seconds=1))


class InvitationNotPending(Conflict):
    code = "invitation_not_pending"
    message = Text("This invitation was accepted or withdrawn in the meantime")


class MemberNotFound(NotFound):
    code = "member_not_found"
    message = Text("User not found")


class DomainNotFound(NotFound):
    code = "domain_not_found"
    message = Text("Domain not found. Add it first")


class DomainNotProved(Conflict):
    """The domain's DNS does not have the TXT record that proves that it belongs to the organization."""

    code = "domain_not_proved"


class InvitationInvalid(Forbidden):
    code = "invitation_invalid"
    message = Text("This invitation is no longer valid. Ask for a new one")


class SignUpClosed(Forbidden):
    code = "sign_up_closed"
    message = Text("Sign-up is by invitation only. Ask your organization or the administrator")


class SignUpLinkInvalid(Forbidden):
    code = "sign_up_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class AccountIsBeingDeleted(Conflict):
    code = "account_being_deleted"
    message = Text("This account is being deleted")


class BoundToOrganization(Conflict):
    message: Text

    def __init__(self, organization: str) -> None:
        super().__init__(self.message.fill(name=organization))


class OwnsOrganization(BoundToOrganization):
    code = "owns_organization"
    message = Text("You own the organization %(name)s. Transfer ownership first, or delete the organization")


class AddressManaged(BoundToOrganization):
    code = "address_managed"
    message = Text("%(name)s manages your account and its email address. Ask its administrator to change it")


class ManagedByOrganization(BoundToOrganization):
    code = "managed_by_organization"
    message = Text("%(name)s manages your account. Ask its administrator to remove you first")
