"""What mail refuses."""

from openslot.core.errors import NotFound


class MailNotFound(NotFound):
    """No such mail, or it is no longer kept."""

    code = "mail_not_found"

    def __init__(self) -> None:
        super().__init__("Mail not found")
