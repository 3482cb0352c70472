"""What mail refuses."""

from openslot.core.errors import NotFound
from openslot.i18n import Text


class MailNotFound(NotFound):
    """No such email, or it is no longer stored."""

    code = "mail_not_found"
    message = Text("Email not found")
