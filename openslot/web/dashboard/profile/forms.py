"""The forms of the profile page."""

import re
from typing import Literal

from msgspec import Struct

from openslot.accounts.models import ChosenBrand, User
from openslot.routing import File, Form

# What a browser's colour field begins with.
FIRST_COLOUR = "#3155d9"
COLOUR = re.compile(r"#[0-9a-f]{6}")


class AboutForm(Struct, frozen=True, kw_only=True):
    """Who a host is, and in which language and zone they read."""

    name: str = ""
    welcome: str = ""
    timezone: str = ""
    locale: str = ""


class LinkForm(Struct, frozen=True, kw_only=True):
    """The first word of a host's link."""

    username: str = ""


class FormerLinkForm(Struct, frozen=True, kw_only=True):
    """Whether a former link leads to the host's page."""

    username: str = ""
    redirect: Literal["yes", "no"] = "no"


class LookForm(Struct, frozen=True, kw_only=True, rename={"brand_name": "brand-name"}):
    """The colour of a host's pages, and what their mail shows."""

    which: Literal["event_types", "own"] = "event_types"
    colour: str = ""
    brand_name: str = ""
    logo: str = ""


class PhotoForm(Struct, frozen=True, kw_only=True):
    """A picture to upload."""

    photo: File | None = None


def begin_about(user: User, welcome: str | None) -> Form[AboutForm]:
    """Fill the form with what is chosen."""
    return Form(values={"name": user.name, "welcome": welcome or "", "timezone": user.zone, "locale": user.locale})


def begin_link(user: User) -> Form[LinkForm]:
    """Fill the form with the username."""
    return Form(values={"username": user.username})


def begin_look(brand: ChosenBrand) -> Form[LookForm]:
    """Fill the form with the brand."""
    return Form(
        values={
            "which": "own" if brand.colour else "event_types",
            "colour": brand.colour or FIRST_COLOUR,
            "brand-name": brand.name or "",
            "logo": brand.logo_url or "",
        }
    )


def shown_colour(text: str) -> str:
    """Return a colour that can be shown: what was typed, or the first one."""
    return text.lower() if COLOUR.fullmatch(text.lower()) else FIRST_COLOUR
