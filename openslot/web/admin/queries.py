"""What the pages of administrators have in common: lists by page and filter, and the line in the platform's log."""

from uuid import UUID

from openslot.change_log.models import ChangeAction, ChangeAuthor, Fields, NewChange
from openslot.change_log.operations import log_change
from openslot.core.work import Work

NOTHING: Fields = {}


async def log_platform(
    work: Work,
    author: ChangeAuthor,
    action: ChangeAction,
    subject: str,
    *,
    subject_id: UUID | None = None,
    before: Fields = NOTHING,
    after: Fields = NOTHING,
) -> None:
    """Write who changed what on the platform, in the transaction of the change."""
    await log_change(
        work,
        NewChange(action=action, author=author, subject=subject, subject_id=subject_id, before=before, after=after),
    )
