"""What mail refuses."""

from openslot.core.errors import NotFound
from openslot.i18n import Text


class MailNotFound(NotFound):
    """No such mail, or it is no longer kept."""

    code = "mail_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Email not found"))
