"""What accounts refuse."""

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

    def __init__(self) -> None:
        super().__init__(Text("An account with this email address already exists"), details={"email": Text("is taken")})


class UsernameTaken(Conflict):
    code = "username_taken"

    def __init__(self) -> None:
        super().__init__(Text("This username is taken"), details={"username": Text("is taken")})


class TooManyUsernames(Conflict):
    """As many former usernames as allowed are reserved for the user."""

    code = "too_many_usernames"

    def __init__(self) -> None:
        super().__init__(
            Text("You have changed your username too often"),
            details={"username": Text("must be one of your former usernames, until one of them is no longer reserved")},
        )


class UsernameNotReserved(NotFound):
    code = "username_not_reserved"
    message = Text("This username is no longer reserved for you")


class AdministratorProtected(Forbidden):
    """Agents can't change the username of an administrator of the platform."""

    code = "administrator_protected"

    def __init__(self) -> None:
        super().__init__(
            Text("Agents can't change the username of an administrator"),
            details={"username": Text("can't be changed by an agent, because the user is an administrator")},
        )


class SlugTaken(Conflict):
    code = "organization_slug_taken"

    def __init__(self) -> None:
        super().__init__(Text("An organization with this slug already exists"), details={"slug": Text("is taken")})


class DomainTaken(Conflict):
    """Another organization has verified this domain."""

    code = "domain_taken"

    def __init__(self) -> None:
        super().__init__(Text("This domain belongs to another organization"), details={"domain": Text("is taken")})


class AlreadyMember(Conflict):
    """The user is already in this organization."""

    code = "already_member"
    message = Text("This user is already a member")


class LastAdministrator(Conflict):
    """The platform would be left without an administrator."""

    code = "last_administrator"
    message = Text("This is the only administrator. Make another user an administrator first")


class LastOwner(Conflict):
    """The organization would be left without an owner who can sign in."""

    code = "last_owner"
    message = Text("This is the only owner. Make another member an owner first")


class OwnerRequired(Forbidden):
    """Only an owner of the organization may do this."""

    code = "owner_required"
    message = Text("Only an owner can do this. Ask an owner of your organization")


class OwnMembershipProtected(Conflict):
    """Administrators can't suspend or remove themselves."""

    code = "own_membership_protected"
    message = Text("You can't suspend or remove yourself. Ask another administrator")


class OrganizationPlanNeeded(Forbidden):
    """Organizations are created by users with the Business plan."""

    code = "organization_plan_needed"
    message = Text("Organizations are part of the Business plan")


class InvitationTooSoon(Conflict):
    """The last invitation was sent only a moment ago."""

    code = "invitation_too_soon"
    message = Text("The last invitation was sent less than 5 minutes ago. Wait, then send it again")


class TooManyInvitations(Conflict):
    """The organization, or the address, has reached a limit of invitations."""

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
    """The member has joined, or there is no invitation."""

    code = "invitation_not_pending"
    message = Text("This invitation was accepted or withdrawn in the meantime")


class MemberNotFound(NotFound):
    """No such member of this organization."""

    code = "member_not_found"
    message = Text("User not found")


class DomainNotFound(NotFound):
    """The organization has not claimed this domain."""

    code = "domain_not_found"
    message = Text("Domain not found. Add it first")


class DomainNotProved(Conflict):
    """The domain's DNS does not have the TXT record that proves that it belongs to the organization."""

    code = "domain_not_proved"


class InvitationInvalid(Forbidden):
    """The invitation is used, expired or wrong."""

    code = "invitation_invalid"
    message = Text("This invitation is no longer valid. Ask for a new one")


class SignUpClosed(Forbidden):
    """This installation creates accounts by invitation only."""

    code = "sign_up_closed"
    message = Text("Sign-up is by invitation only. Ask your organization or the administrator")


class SignUpLinkInvalid(Forbidden):
    """The link to verify an email address is used, expired or wrong."""

    code = "sign_up_link_invalid"
    message = Text("This link was already used, has expired or is incomplete")


class AccountIsBeingDeleted(Conflict):
    """The account is being deleted and can't be used or changed."""

    code = "account_being_deleted"
    message = Text("This account is being deleted")


class OwnsOrganization(Conflict):
    """An organization would be left without this owner."""

    code = "owns_organization"

    def __init__(self, organization: str) -> None:
        super().__init__(
            Text(
                "You own the organization %(name)s. Transfer ownership first, or delete the organization",
                name=organization,
            )
        )


class AddressManaged(Conflict):
    """The identity provider of an organization manages the account and its address."""

    code = "address_managed"

    def __init__(self, organization: str) -> None:
        super().__init__(
            Text(
                "%(name)s manages your account and its email address. Ask its administrator to change it",
                name=organization,
            )
        )


class ManagedByOrganization(Conflict):
    """An organization manages the account, so only its administrators can remove it."""

    code = "managed_by_organization"

    def __init__(self, organization: str) -> None:
        super().__init__(
            Text("%(name)s manages your account. Ask its administrator to remove you first", name=organization)
        )
