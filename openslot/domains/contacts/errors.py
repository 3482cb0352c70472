"""What contacts refuse."""

from collections.abc import Mapping

from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.i18n import Text


class ContactNotFound(NotFound):
    """No such contact, or it belongs to somebody else."""

    code = "contact_not_found"
    message = Text("Contact not found")


class ContactEmailAlreadyExists(Conflict):
    """The owner has another contact with this email address, regardless of letter case."""

    code = "contact_email_already_exists"
    message = Text("Another of your contacts has this email address")
    faults: Mapping[str, str] = {"email": Text("is taken")}


class ImportNotFound(NotFound):
    """No such import of contacts, it belongs to somebody else, or it was deleted."""

    code = "import_not_found"
    message = Text("Import not found")


class ImportAlreadyStarted(Conflict):
    """The import has already started and can't be changed."""

    code = "import_already_started"
    message = Text("This import has already been started")


class ImportLimitExceeded(Conflict):
    """The owner has reached the limit of unfinished imports of contacts."""

    code = "import_limit_exceeded"
    message = Text("Other imports are not finished yet. Wait for them, or delete one of them")
