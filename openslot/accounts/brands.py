"""Brands: the name, colour and logo shown in the mail of a user or of an organization's members."""

import re

from openslot.accounts import brand_store as store
from openslot.accounts.models import ChosenBrand, Organization, User
from openslot.core.errors import Invalid
from openslot.core.text import is_line
from openslot.core.urls import is_web_url
from openslot.core.work import Work
from openslot.i18n import Text

LONGEST_NAME = 100
COLOUR = re.compile(r"#[0-9a-f]{6}")


async def get_brand(work: Work, owner: User | Organization) -> ChosenBrand:
    """Read a brand; fields that were not chosen are empty."""
    return await store.find_brand(work.db, owner=_column(owner), owner_id=owner.id) or ChosenBrand()


async def set_brand(work: Work, owner: User | Organization, brand: ChosenBrand) -> ChosenBrand:
    """Choose name, colour and logo; a user's brand without any of them gives way to the organization's."""
    checked = check_brand(brand)
    if checked == ChosenBrand():
        await store.delete_brand(work.db, owner=_column(owner), owner_id=owner.id)
        return checked
    await store.save_brand(work.db, checked, owner=_column(owner), owner_id=owner.id, now=work.now)
    return checked


def check_brand(brand: ChosenBrand) -> ChosenBrand:
    """Write a brand in its normal form, or name everything that is wrong with it."""
    name, colour, logo = (brand.name or "").strip(), (brand.colour or "").lower(), (brand.logo_url or "").strip()
    faults: dict[str, str] = {}
    if len(name) > LONGEST_NAME or not is_line(name):
        faults["name"] = Text("must be one line of at most %(most)s characters", most=LONGEST_NAME)
    if colour and COLOUR.fullmatch(colour) is None:
        faults["colour"] = Text("must be a colour such as %(example)s", example="#3155d9")
    if logo and not (is_web_url(logo) and logo.lower().startswith("https://")):
        faults["logo"] = Text("must be a link that begins with https://")
    if faults:
        raise Invalid(details=faults)
    return ChosenBrand(name=name or None, colour=colour or None, logo_url=logo or None)


def _column(owner: User | Organization) -> str:
    return "user_id" if isinstance(owner, User) else "organization_id"
