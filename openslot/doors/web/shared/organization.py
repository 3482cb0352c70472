"""What the pages of an organization have in common: which one it is, who changes it, and the names of roles."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.members.operations import Administration, begin_administration, is_administrator
from openslot.domains.accounts.models import MemberState, Organization, OwnMembership, Role, User
from openslot.domains.change_log.models import ChangeAction, ChangeAuthor, Fields, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.cookies import read_cookie, read_field, write_cookie
from openslot.doors.web.shared.pages import page
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Cookie, Request, Response

COOKIE = "openslot_organization"
FIELD = "organization"
LASTS = timedelta(days=365)
NOTHING: Fields = {}
ROLE_WORDS = {Role.OWNER: Text("Owner"), Role.ADMIN: Text("Administrator"), Role.MEMBER: Text("Member")}
STATE_WORDS = {
    MemberState.ACTIVE: (Text("Active"), "good"),
    MemberState.INVITED: (Text("Invited"), "wait"),
    MemberState.EXPIRED: (Text("Invitation expired"), "bad"),
    MemberState.SUSPENDED: (Text("Suspended"), "off"),
    MemberState.CLOSED: (Text("Account disabled"), "off"),
}


def get_own_membership(request: Exchange) -> OwnMembership:
    """Return the user's place in the current organization; who has none finds nothing."""
    own = find_own(request)
    if own is None:
        raise NotFound
    return own


def get_administered_membership(request: Exchange) -> OwnMembership:
    """Return the same for owners and administrators only."""
    own = get_own_membership(request)
    if not is_administrator(own.role):
        raise NotFound
    return own


def find_own(request: Exchange) -> OwnMembership | None:
    """Return the user's place in the current organization, if there is one.

    A form says which organization it was shown for, so that a choice in another tab can't change what it does.
    """
    memberships = request.entry.memberships
    by_id = {str(own.organization_id): own for own in memberships}
    named = read_field(request, FIELD) if request.method == "POST" else None
    if named is not None:
        return by_id.get(named)
    chosen = by_id.get(read_cookie(request, request.runtime.settings, COOKIE))
    return (
        chosen
        or next((own for own in memberships if is_administrator(own.role)), None)
        or next(iter(memberships), None)
    )


def organization_cookie(work: Work, own: OwnMembership) -> Cookie:
    return write_cookie(work, COOKIE, str(own.organization_id), lasts=LASTS)


def organization_page(template: str, request: Exchange, own: OwnMembership, *, here: str, **values: Any) -> Response:
    return page(
        template if "/" in template else f"organization/{template}",
        request.user,
        here=here,
        own=own,
        others=[each for each in request.entry.memberships if each != own],
        **values,
    )


def change_author(request: Request, user: User) -> ChangeAuthor:
    return ChangeAuthor(name=user.name, email=user.email, address=request.address)


class OrganizationChange(Struct, frozen=True, kw_only=True):
    """A change of an organization, which leaves a line in its log."""

    work: Work
    author: ChangeAuthor
    organization: Organization

    async def log(
        self, action: ChangeAction, subject: str, subject_id: UUID, *, before: Fields = NOTHING, after: Fields = NOTHING
    ) -> None:
        change = NewChange(
            action=action,
            author=self.author,
            subject=subject,
            subject_id=subject_id,
            organization_id=self.organization.id,
            before=before,
            after=after,
        )
        await log_change(self.work, change)


class AdministratorChange(OrganizationChange, frozen=True, kw_only=True):
    """A change by an administrator, who holds the organization's lock."""

    administration: Administration


async def begin_administrator_change(request: Exchange, work: Work, user: User) -> AdministratorChange:
    """Lock the current organization for a decision of its administrator."""
    administration = await begin_administration(work, get_administered_membership(request).organization_id, user.id)
    author, organization = change_author(request, user), administration.organization
    return AdministratorChange(work=work, author=author, organization=organization, administration=administration)
