"""What contacts refuse."""

from openslot.core.errors import Conflict, NotFound
from openslot.i18n import Text


class ContactNotFound(NotFound):
    """No such contact, or it is another's."""

    code = "contact_not_found"

    def __init__(self) -> None:
        super().__init__(Text("Contact not found"))


class ContactEmailTaken(Conflict):
    """The owner has another contact with this e-mail address, in whatever letter case."""

    code = "contact_email_taken"

    def __init__(self) -> None:
        super().__init__(Text("Another of your contacts has this e-mail address"), details={"email": Text("is taken")})
