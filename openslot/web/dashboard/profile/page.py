"""Pages: the profile, with a form for each part of it."""

from datetime import date
from typing import Any, NamedTuple

from openslot.accounts import brands, former_usernames, profiles
from openslot.accounts import operations as accounts
from openslot.accounts.models import ChosenBrand, User, UserSettings
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.i18n.languages import LANGUAGES
from openslot.routing import Form, Request, Response, get, post
from openslot.web import words
from openslot.web.booking_page.view import initials
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.profile.forms import (
    AboutForm,
    FormerLinkForm,
    LinkForm,
    LookForm,
    begin_about,
    begin_link,
    begin_look,
    shown_colour,
)
from openslot.web.dashboard.profile.swatches import list_swatches
from openslot.web.pages import page, redirect

HERE = "/settings/profile"
NOTICES = {
    "saved": Text("Your profile was saved."),
    "link": Text("Your link was changed. The old one redirects to it."),
    "former": Text("Your former link was changed."),
    "look": Text("The appearance of your pages and emails was saved."),
    "photo": Text("Your photo was saved."),
    "removed": Text("Your photo was removed."),
}


class FormerLink(NamedTuple):
    """A former username as the page lists it."""

    name: str
    leads: bool
    until: date


@get(HERE)
async def show_profile(request: Request, work: Work, user: User) -> Response:
    """Show the profile."""
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
    await former_usernames.set_leads(work, user, sent.username, leads=sent.redirect == "yes")
    return redirect(f"{HERE}?done=former")


@post(f"{HERE}/look")
async def change_look(work: Work, user: User, form: Form[LookForm]) -> Response:
    """Choose the colour of pages and mail, and the name and logo of mail."""
    if form.faults:
        return await profile_page(work, user, look=form)
    sent = form.get()
    brand = ChosenBrand(name=sent.brand_name, colour=sent.colour if sent.which == "own" else None, logo_url=sent.logo)
    try:
        await brands.set_brand(work, user, brand)
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
    brand, welcome = await brands.get_brand(work, user), await profiles.find_welcome(work, user)
    former = await former_usernames.list_former_usernames(work, user)
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
