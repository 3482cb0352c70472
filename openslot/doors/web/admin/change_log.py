"""The platform's change log: one line for each change of an administrator."""

from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.change_log.models import ChangeAction, Fields, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.doors.web.shared.organization import change_author
from openslot.platform.core.work import Work
from openslot.platform.routing import Request

NOTHING: Fields = {}


async def log_platform(
    work: Work,
    request: Request,
    user: User,
    action: ChangeAction,
    subject: str,
    *,
    subject_id: UUID | None = None,
    before: Fields = NOTHING,
    after: Fields = NOTHING,
) -> None:
    """Write who changed what on the platform, in the transaction of the change."""
    author = change_author(request, user)
    change = NewChange(action=action, author=author, subject=subject, subject_id=subject_id, before=before, after=after)
    await log_change(work, change)
