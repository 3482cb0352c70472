"""The deletion of an organization is confirmed."""

from typing import Annotated

from msgspec import Meta, Struct

from openslot.domains.access.two_factor.operations import get_two_factor_state
from openslot.domains.accounts.models import (
    Organization,
    User,
)
from openslot.doors.web.shared.owners import confirm_owner, needs_link
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE, defuse
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form

NO_PASSWORD = Text("Your account has no password. Set one first, so that we can ask you for it.")


class DeleteOrganizationForm(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    password: Annotated[str, Meta(pattern=LINE, max_length=200)] = ""
    code: Annotated[str, Meta(pattern=LINE, max_length=100)] = ""


async def confirm_deletion(
    work: Work, user: User, organization: Organization, form: Form[DeleteOrganizationForm]
) -> None:
    """Refuse unless the name of the organization was typed, and the user has proved who it is."""
    sent = form.get()
    # Whoever copies the name from the heading has copied the joiners too.
    if defuse(sent.name.strip()) != defuse(organization.name):
        raise Invalid(details={"name": Text("must be the name of the organization")})
    state = await get_two_factor_state(work, user)
    if needs_link(state):
        raise Invalid(details={"form": NO_PASSWORD})
    await confirm_owner(work, user, state, password=sent.password, code=sent.code, proof="")
