"""brand …: the name, colour and logo on emails."""

from typing import Annotated

import typer

from openslot.accounts import operations as accounts
from openslot.accounts import profiles
from openslot.accounts.models import ChosenBrand, Organization, User
from openslot.cli.output import AsJson, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.processes.runtimes import with_work

app = typer.Typer(help="The name, colour and logo on emails.", no_args_is_help=True, add_completion=False)

OfUser = Annotated[str | None, typer.Option("--user", help="A user's, by email address")]
OfOrganization = Annotated[str | None, typer.Option("--organization", help="An organization's, by its slug")]


@app.command("show")
def show_brand(user: OfUser = None, organization: OfOrganization = None, as_json: AsJson = False) -> None:
    """Show a brand."""

    async def do(work: Work) -> ChosenBrand:
        return await profiles.get_brand(work, await _get_owner(work, user, organization))

    _show(with_work(do), as_json=as_json)


@app.command("set")
def set_brand(
    user: OfUser = None,
    organization: OfOrganization = None,
    *,
    name: Annotated[str | None, typer.Option(help="At the top of emails; empty: the host's or organization's")] = None,
    colour: Annotated[str | None, typer.Option(help="Such as #3155d9; empty: the event type's")] = None,
    logo: Annotated[str | None, typer.Option(help="An https:// link to an image; empty: the name instead")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a brand. Omitted fields stay unchanged."""

    async def do(work: Work) -> ChosenBrand:
        owner = await _get_owner(work, user, organization)
        before = await profiles.get_brand(work, owner)
        changed = ChosenBrand(
            name=before.name if name is None else name,
            colour=before.colour if colour is None else colour,
            logo_url=before.logo_url if logo is None else logo,
        )
        return await profiles.set_brand(work, owner, changed)

    _show(with_work(do), as_json=as_json)


async def _get_owner(work: Work, user: str | None, organization: str | None) -> User | Organization:
    if (user is None) == (organization is None):
        raise Invalid("Specify --user or --organization")
    if user is not None:
        return await accounts.get_user_by_email(work, user)
    return await accounts.get_organization(work, organization or "")


def _show(brand: ChosenBrand, *, as_json: bool) -> None:
    if as_json:
        print_json(brand)
        return
    print_table(("Name", "Colour", "Logo"), [(brand.name, brand.colour, brand.logo_url)], nothing="")
