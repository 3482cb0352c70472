"""What connecting a CRM refuses."""

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class CrmNotFound(NotFound):
    """There is no such connected CRM, or it belongs to somebody else."""

    code = "crm_not_found"
    message = Text("This CRM is not connected")


class TooManyCrms(Conflict):
    """The user has reached the limit of connected CRMs."""

    code = "crm_limit_exceeded"

    def __init__(self, max_: int) -> None:
        super().__init__(Text("There are %(max)s connected CRMs already. Disconnect one first", max=max_))
