"""What contacts refuse."""

from openslot.core.errors import Conflict, NotFound
from openslot.i18n import Text


class ContactNotFound(NotFound):
    """No such contact, or it is another's."""

    code = "contact_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Contact not found"))


class ContactEmailTaken(Conflict):
    """The owner has another contact with this email address, in whatever letter case."""

    code = "contact_email_taken"

    def __init__(self) -> None:
        super().__init__(Text("Another of your contacts has this email address"), details={"email": Text("is taken")})


class ImportNotFound(NotFound):
    """No such import, or it is another's, or it was deleted after its time."""

    code = "import_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Import not found"))


class ImportStarted(Conflict):
    """The import has been started before, and can't be changed."""

    code = "import_started"

    def __init__(self) -> None:
        super().__init__(Text("This import has already been started"))


class TooManyImports(Conflict):
    """The owner has as many unfinished imports as are allowed."""

    code = "too_many_imports"

    def __init__(self) -> None:
        super().__init__(Text("Other imports are not finished yet. Wait for them, or delete one of them"))
