"""Pages: the profile, with a form for each part of it: name, link, welcome text, photo and colour."""

import re
from datetime import date
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.accounts import profiles
from openslot.accounts.models import ChosenBrand, User, UserSettings
from openslot.accounts.pictures import EMPTY, MAX_BYTES, prepare_picture
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.i18n.languages import LANGUAGES
from openslot.integrations.mail.rendering import DARK_PAPER, PAPER
from openslot.routing import File, Form, RateLimit, Request, Response, get, post
from openslot.web import words
from openslot.web.booking_page.view import initials
from openslot.web.dashboard.curl import curl
from openslot.web.pages import page, redirect
from openslot.web.static_files import shade

# What a browser's colour field begins with.
FIRST_COLOUR = "#3155d9"
COLOUR = re.compile(r"#[0-9a-f]{6}")
HERE = "/settings/profile"
NOTICES = {
    "saved": Text("Your profile was saved."),
    "link": Text("Your link was changed. The old one redirects to it."),
    "former": Text("Your former link was changed."),
    "look": Text("The appearance of your pages and emails was saved."),
    "photo": Text("Your photo was saved."),
    "removed": Text("Your photo was removed."),
}
# A file that is only a little too large is refused at its field, with the rest of the page.
ACCEPTED = 2 * MAX_BYTES
UPLOADS = RateLimit("photos", 20)


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
    photo: File | None = None


def begin_about(user: User, welcome: str | None) -> Form[AboutForm]:
    """Fill the form with what is chosen."""
    return Form(values={"name": user.name, "welcome": welcome or "", "timezone": user.zone, "locale": user.locale})


def begin_link(user: User) -> Form[LinkForm]:
    return Form(values={"username": user.username})


def begin_look(brand: ChosenBrand) -> Form[LookForm]:
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


class Swatch(Struct, frozen=True, kw_only=True):
    """The colours of one button and of what is around it."""

    name: str
    paper: str
    accent: str
    ink: str


def list_swatches(colour: str) -> tuple[Swatch, Swatch]:
    """Show a colour on light and on dark paper; where text would not be readable, it is changed as far as needed."""
    light, dark = shade(colour, PAPER), shade(colour, DARK_PAPER)
    return (
        Swatch(name="light", paper=PAPER, accent=light["accent"], ink=light["accent-ink"]),
        Swatch(name="dark", paper=DARK_PAPER, accent=dark["accent"], ink=dark["accent-ink"]),
    )


class FormerLink(NamedTuple):
    """A former username as the page lists it."""

    name: str
    leads: bool
    until: date


@get(HERE)
async def show_profile(request: Request, work: Work, user: User) -> Response:
    return await profile_page(work, user, notice=NOTICES.get(request.query.get("done", "")))


@post(HERE)
async def change_profile(work: Work, user: User, form: Form[AboutForm]) -> Response:
    """Change name, welcome text, time zone and language, all of them or none."""
    if form.faults:
        return await profile_page(work, user, about=form)
    sent = form.get()
    try:
        async with work.attempt():
            await _save_about(work, user, sent)
    except Invalid as refusal:
        return await profile_page(work, user, about=form.with_faults(refusal.faults))
    return redirect(f"{HERE}?done=saved")


@post(f"{HERE}/link")
async def change_link(work: Work, user: User, form: Form[LinkForm]) -> Response:
    """Change the username, which is the first word of the host's link."""
    if form.faults:
        return await profile_page(work, user, link=form)
    try:
        await accounts.change_settings(work, user, UserSettings(username=form.get().username))
    except (Invalid, Conflict) as refusal:
        faults = refusal.faults or {"username": refusal.sentence}
        return await profile_page(work, user, link=form.with_faults(faults))
    return redirect(f"{HERE}?done=link")


@post(f"{HERE}/link/former")
async def change_former_link(work: Work, user: User, form: Form[FormerLinkForm]) -> Response:
    """Choose whether a former link leads to the host's page."""
    if form.faults:
        return await profile_page(work, user, link=form)
    sent = form.get()
    await profiles.set_leads(work, user, sent.username, leads=sent.redirect == "yes")
    return redirect(f"{HERE}?done=former")


@post(f"{HERE}/look")
async def change_look(work: Work, user: User, form: Form[LookForm]) -> Response:
    """Choose the colour of pages and mail, and the name and logo of mail."""
    if form.faults:
        return await profile_page(work, user, look=form)
    sent = form.get()
    brand = ChosenBrand(name=sent.brand_name, colour=sent.colour if sent.which == "own" else None, logo_url=sent.logo)
    try:
        await profiles.set_brand(work, user, brand)
    except Invalid as refusal:
        named = {"brand-name" if field == "name" else field: fault for field, fault in refusal.faults.items()}
        return await profile_page(work, user, look=form.with_faults(named))
    return redirect(f"{HERE}?done=look")


async def profile_page(
    work: Work,
    user: User,
    *,
    notice: Text | None = None,
    about: Form[AboutForm] | None = None,
    link: Form[Any] | None = None,
    look: Form[LookForm] | None = None,
    photo: Form[Any] | None = None,
) -> Response:
    """Show the profile, with the faults of one of its forms."""
    brand, welcome = await profiles.get_brand(work, user), await profiles.find_welcome(work, user)
    former = await profiles.list_former_usernames(work, user)
    given = [form for form in (about, link, look, photo) if form is not None]
    look = look or begin_look(brand)
    return page(
        "dashboard/profile/profile.html",
        user,
        status=400 if given else 200,
        here=HERE,
        notice=notice,
        base=f"{work.runtime.settings.public_url}/",
        languages=LANGUAGES,
        longest=profiles.LONGEST_WELCOME,
        initials=initials(user.name),
        photo=profiles.photo_path(user.photo),
        about=about or begin_about(user, welcome),
        link=link or begin_link(user),
        former=[FormerLink(each.name, each.leads, words.day(each.reserved_until, user.zone)) for each in former],
        look=look,
        colour=shown_colour(look["colour"]),
        swatches=list_swatches(shown_colour(look["colour"])),
        photo_form=photo or Form(),
        curl=curl(work, user, "/me"),
    )


async def _save_about(work: Work, user: User, sent: AboutForm) -> None:
    """Check everything before anything is written, so that every fault is named."""
    faults: dict[str, str] = {}
    try:
        await profiles.set_welcome(work, user, sent.welcome)
    except Invalid as refusal:
        faults |= refusal.faults
    try:
        wanted = UserSettings(name=sent.name, zone=sent.timezone, locale=sent.locale)
        await accounts.change_settings(work, user, wanted)
    except Invalid as refusal:
        faults |= refusal.faults
    if faults:
        raise Invalid(details=faults)


@post(f"{HERE}/photo", transaction="none", max_bytes=ACCEPTED, limit=UPLOADS)
async def upload_photo(work: Work, user: User, form: Form[PhotoForm]) -> Response:
    """Prepare a picture while no connection is held, then keep it."""
    sent = form.sent.photo if form.sent else None
    if sent is None:
        return await profile_page(work, user, photo=form.with_faults({"photo": EMPTY}))
    try:
        picture = await prepare_picture(sent.body)
    except Invalid as refusal:
        return await profile_page(work, user, photo=form.with_faults(refusal.faults))
    async with work.transaction():
        await profiles.set_photo(work, user, picture)
    return redirect(f"{HERE}?done=photo")


@get(f"{HERE}/photo/remove")
async def ask_to_remove_photo(user: User) -> Response:
    path = profiles.photo_path(user.photo)
    if path is None:
        return redirect(HERE)
    return page("dashboard/profile/remove_photo.html", user, here=HERE, photo=path)


@post(f"{HERE}/photo/remove")
async def remove_photo(work: Work, user: User) -> Response:
    await profiles.remove_photo(work, user)
    return redirect(f"{HERE}?done=removed")
