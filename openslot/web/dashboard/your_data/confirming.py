"""Makes sure that it is the owner who deletes the account; whatever else is to be asked for belongs here."""

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import Text

TYPE_EMAIL = Text("must be the email address of this account")


async def confirm_owner(work: Work, user: User, *, has_password: bool, password: str, email: str, code: str) -> None:
    """Refuse unless the owner has proved who it is: by the password and the second factor, if there is one.

    Without a password, the email address has to be typed.
    """
    if has_password:
        await access.confirm_password(work, user, password)
    elif email.strip().casefold() != user.email.casefold():
        raise Invalid(details={"email": TYPE_EMAIL})
    await two_factor.confirm_code(work, user, code)
