"""Makes sure that it is the owner who deletes the account; whatever else is to be asked for belongs here."""

from openslot.access import operations as access
from openslot.access import two_factor
from openslot.access.models import TwoFactorState
from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.people import deletion_links

NO_PROOF = Text("The link is not valid or has expired. Ask for a new one")


def needs_link(state: TwoFactorState) -> bool:
    """Return whether nothing but a link by mail can prove who it is."""
    return not state.has_password and state.on_since is None


async def confirm_owner(work: Work, user: User, state: TwoFactorState, *, password: str, code: str, proof: str) -> None:
    """Refuse unless the owner has proved who it is: by the password, and by a code if the second factor is on.

    Without either, the link that was sent to the account's address is needed.
    """
    if needs_link(state) and not deletion_links.is_proof(work.runtime, user, proof, now=work.now):
        raise Invalid(details={"form": NO_PROOF})
    if state.has_password:
        await access.confirm_password(work, user, password)
    await two_factor.confirm_code(work, user, code)
