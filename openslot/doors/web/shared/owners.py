"""The owner of what is deleted confirms it."""

from openslot.domains.access.models import TwoFactorState
from openslot.domains.access.operations import confirm_password
from openslot.domains.access.two_factor.operations import confirm_second_factor
from openslot.domains.accounts.models import User
from openslot.domains.people import deletions
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

NO_PROOF = Text("The link is not valid or has expired. Ask for a new one")


def needs_link(state: TwoFactorState) -> bool:
    """Return whether nothing but a link by mail can prove who it is."""
    return not state.has_password and state.on_since is None


async def confirm_owner(work: Work, user: User, state: TwoFactorState, *, password: str, code: str, proof: str) -> None:
    """Refuse unless the owner has proved who it is: by the password, and by a code if the second factor is on.

    Without either, the link that was sent to the account's address is needed.
    """
    if needs_link(state) and not deletions.is_proof(work.runtime, user, proof, now=work.now):
        raise Invalid(details={"form": NO_PROOF})
    if state.has_password:
        await confirm_password(work, user, password)
    await confirm_second_factor(work, user, code)
