"""What every change of an organization has in common: who makes it, and the line in the log."""

from uuid import UUID

from openslot.accounts.administration import Administration, begin_administration
from openslot.accounts.models import Organization, User
from openslot.change_log.models import ChangeAction, ChangeAuthor, Fields, NewChange
from openslot.change_log.operations import log_change
from openslot.core.work import Work
from openslot.http.doors import Exchange
from openslot.routing import Request
from openslot.web.organization.current import get_administered

NOTHING: Fields = {}


async def begin_change(request: Exchange, work: Work, user: User) -> Administration:
    """Lock the current organization for a decision of its administrator."""
    return await begin_administration(work, get_administered(request).organization_id, user.id)


def author_of(request: Request, user: User) -> ChangeAuthor:
    """Return who makes a change, and from where."""
    return ChangeAuthor(name=user.name, email=user.email, address=request.address)


async def log(
    work: Work,
    author: ChangeAuthor,
    organization: Organization,
    action: ChangeAction,
    subject: str,
    *,
    subject_id: UUID | None = None,
    before: Fields = NOTHING,
    after: Fields = NOTHING,
) -> None:
    """Write a change of an organization to its log."""
    change = NewChange(
        action=action,
        author=author,
        subject=subject,
        subject_id=subject_id,
        organization_id=organization.id,
        before=before,
        after=after,
    )
    await log_change(work, change)
