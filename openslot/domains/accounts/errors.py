"""What accounts refuse."""

from collections.abc import Mapping
from datetime import timedelta

from openslot.domains.accounts.models import InvitationLimit
from openslot.platform.core.errors import Conflict, Forbidden, NotFound
from openslot.platform.i18n import PluralText, Text


class UserNotFound(NotFound):
    code = "user_not_found"
    message = Text("User not found")


class OrganizationNotFound(NotFound):
    code = "organization_not_found"
    message = Text("Organization not found")


class EmailAlreadyExists(Conflict):
    code = "email_already_exists"
    message = Text("An account with this email address already exists")
    faults: Mapping[str, str] = {"email": Text("is taken")}


class UsernameAlreadyExists(Conflict):
    code = "username_already_exists"
    message = Text("This username is taken")
    faults: Mapping[str, str] = {"username": Text("is taken")}


class UsernameLimitExceeded(Conflict):
    code = "username_limit_exceeded"
    message = Text("You have changed your username too often")
    faults: Mapping[str, str] = {
        "username": Text("must be one of your former usernames, until one of them is no longer reserved")
    }


class ReservedUsernameNotFound(NotFound):
    code = "reserved_username_not_found"
    message = Text("This username is no longer reserved for you")


class AdministratorProtected(Forbidden):
    code = "administrator_protected"
    message = Text("Agents can't change the username of an administrator")
    faults: Mapping[str, str] = {"username": Text("can't be changed by an agent, because the user is an administrator")}


class OrganizationSlugAlreadyExists(Conflict):
    code = "organization_slug_already_exists"
    message = Text("An organization with this slug already exists")
    faults: Mapping[str, str] = {"slug": Text("is taken")}


class DomainAlreadyClaimed(Conflict):
    code = "domain_already_claimed"
    message = Text("This domain belongs to another organization")
    faults: Mapping[str, str] = {"domain": Text("is taken")}


class MemberAlreadyExists(Conflict):
    code = "member_already_exists"
    message = Text("This user is already a member")


class LastAdministratorRequired(Conflict):
    code = "last_administrator_required"
    message = Text("This is the only administrator. Make another user an administrator first")


class LastOwnerRequired(Conflict):
    code = "last_owner_required"
    message = Text("This is the only owner. Make another member an owner first")


class OwnerRequired(Forbidden):
    code = "owner_required"
    message = Text("Only an owner can do this. Ask an owner of your organization")


class OwnMembershipProtected(Conflict):
    code = "own_membership_protected"
    message = Text("You can't suspend or remove yourself. Ask another administrator")


class OrganizationPlanRequired(Forbidden):
    code = "organization_plan_required"
    message = Text("Organizations are part of the Business plan")


class InvitationRecentlySent(Conflict):
    code = "invitation_recently_sent"
    message = Text("The last invitation is less than 5 minutes old. Wait, then invite again")


class InvitationLimitExceeded(Conflict):
    code = "invitation_limit_exceeded"

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


class DomainNotVerified(Conflict):
    """The domain's DNS does not have the TXT record that proves that it belongs to the organization."""

    code = "domain_not_verified"


class InvalidInvitation(Forbidden):
    code = "invalid_invitation"
    message = Text("This invitation is no longer valid. Ask for a new one")


class SignUpDisabled(Forbidden):
    code = "sign_up_disabled"
    message = Text("Sign-up is by invitation only. Ask your organization or the administrator")


class InvalidSignUpLink(Forbidden):
    code = "invalid_sign_up_link"
    message = Text("This link was already used, has expired or is incomplete")


class AccountDeletionPending(Conflict):
    code = "account_deletion_pending"
    message = Text("This account is being deleted")


class BoundToOrganization(Conflict):
    message: Text

    def __init__(self, organization: str) -> None:
        super().__init__(self.message.fill(name=organization))


class AccountOwnsOrganization(BoundToOrganization):
    code = "account_owns_organization"
    message = Text("You own the organization %(name)s. Transfer ownership first, or delete the organization")


class EmailManagedByOrganization(BoundToOrganization):
    code = "email_managed_by_organization"
    message = Text("%(name)s manages your account and its email address. Ask its administrator to change it")


class AccountManagedByOrganization(BoundToOrganization):
    code = "account_managed_by_organization"
    message = Text("%(name)s manages your account. Ask its administrator to remove you first")
