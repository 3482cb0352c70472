"""brand …: the name, color and logo on emails."""

from typing import Annotated

import typer

from openslot.cli.command import command, group
from openslot.cli.output import Answer, TableRows
from openslot.domains.accounts.models import ChosenBrand, Organization, User
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.accounts.profiles.operations import choose_brand, get_brand
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work

app = group("The name, color and logo on emails.")

OfUser = Annotated[str | None, typer.Option("--user", help="A user's, by email address")]
OfOrganization = Annotated[str | None, typer.Option("--organization", help="An organization's, by its slug")]


@command(app, "show")
async def show_brand(work: Work, user: OfUser = None, organization: OfOrganization = None) -> Answer:
    """Show the name, color and logo on emails."""
    return _answer(await get_brand(work, await _get_owner(work, user, organization)))


@command(app, "set")
async def set_brand(
    work: Work,
    user: OfUser = None,
    organization: OfOrganization = None,
    *,
    name: Annotated[str | None, typer.Option(help="At the top of emails; empty: the host's or organization's")] = None,
    color: Annotated[str | None, typer.Option(help="Such as #3155d9; empty: the event type's")] = None,
    logo: Annotated[str | None, typer.Option(help="An https:// link to an image; empty: the name instead")] = None,
) -> Answer:
    """Change the name, color and logo on emails. Omitted fields stay unchanged."""
    owner = await _get_owner(work, user, organization)
    before = await get_brand(work, owner)
    changed = ChosenBrand(
        name=before.name if name is None else name,
        color=before.color if color is None else color,
        logo_url=before.logo_url if logo is None else logo,
    )
    return _answer(await choose_brand(work, owner, changed))


async def _get_owner(work: Work, user: str | None, organization: str | None) -> User | Organization:
    if (user is None) == (organization is None):
        raise Invalid("Specify --user or --organization")
    if user is not None:
        return await get_user_by_email(work, user)
    return await get_organization(work, organization or "")


def _answer(brand: ChosenBrand) -> Answer:
    row = (brand.name, brand.color, brand.logo_url)
    return Answer(brand, TableRows(("Name", "Color", "Logo"), [row]))
