"""What exports refuse."""

from openslot.platform.core.errors import Conflict, NotFound, RateLimited
from openslot.platform.i18n import Text


class ExportNotFound(NotFound):
    """No such export, it belongs to somebody else, it is not ready, or it was deleted."""

    code = "export_not_found"
    message = Text("This export does not exist or was deleted")


class ExportInProgress(Conflict):
    code = "export_in_progress"
    message = Text("An export is already in progress. Wait until it is ready")


class ExportLimitExceeded(RateLimited):
    code = "export_limit_exceeded"

    def __init__(self, max_: int, *, retry_after: int) -> None:
        super().__init__(
            Text("You can request %(max)s exports a day. Try again tomorrow", max=max_), retry_after=retry_after
        )
