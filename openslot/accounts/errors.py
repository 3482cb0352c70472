"""What accounts refuse."""

from openslot.core.errors import Conflict, Forbidden, NotFound


class UserNotFound(NotFound):
    """No such user."""

    code = "user_not_found"

    def __init__(self) -> None:
        super().__init__("User not found")


class OrganizationNotFound(NotFound):
    """No such organization."""

    code = "organization_not_found"

    def __init__(self) -> None:
        super().__init__("Organization not found")


class EmailTaken(Conflict):
    """Another account has this e-mail address."""

    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("An account with this e-mail address exists", details={"email": "is taken"})


class UsernameTaken(Conflict):
    """Another account has this username."""

    code = "username_taken"

    def __init__(self) -> None:
        super().__init__("This username is taken", details={"username": "is taken"})


class SlugTaken(Conflict):
    """Another organization has this slug."""

    code = "organization_slug_taken"

    def __init__(self) -> None:
        super().__init__("An organization with this slug exists", details={"slug": "is taken"})


class DomainTaken(Conflict):
    """Another organization has verified this domain."""

    code = "domain_taken"

    def __init__(self) -> None:
        super().__init__("This domain belongs to another organization", details={"domain": "is taken"})


class AlreadyMember(Conflict):
    """The user is in this organization already."""

    code = "already_member"

    def __init__(self) -> None:
        super().__init__("This user is a member already")


class LastAdministrator(Conflict):
    """The platform would be left without an administrator."""

    code = "last_administrator"

    def __init__(self) -> None:
        super().__init__("This is the last administrator; name another one first")


class MemberNotFound(NotFound):
    """No such member of this organization."""

    code = "member_not_found"

    def __init__(self) -> None:
        super().__init__("User not found")


class DomainNotFound(NotFound):
    """The organization has not claimed this domain."""

    code = "domain_not_found"

    def __init__(self) -> None:
        super().__init__("Domain not found; claim it first")


class DomainNotProved(Conflict):
    """The domain's DNS has no record with the organization's proof."""

    code = "domain_not_proved"


class InvitationInvalid(Forbidden):
    """The invitation is used, expired or wrong."""

    code = "invitation_invalid"

    def __init__(self) -> None:
        super().__init__("This invitation is no longer valid; ask for a new one")
