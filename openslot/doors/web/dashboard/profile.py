"""Pages: the profile, with a form for each part of it: name, link and photo."""

from typing import Any, Literal

from msgspec import Struct

from openslot.domains.accounts.models import User, UserSettings
from openslot.domains.accounts.operations import change_user_settings
from openslot.domains.accounts.pictures.operations import EMPTY, MAX_BYTES, prepare_picture
from openslot.domains.accounts.profiles.operations import (
    list_former_usernames,
    photo_path,
    remove_user_photo,
    set_user_photo,
    set_username_leads,
)
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.marks import initials
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.zone_search import read_zone
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import File, Form, RateLimit, Response, get, post

HERE = "/settings/profile"
NOTICES = {
    "saved": Text("Your profile was saved."),
    "link": Text("Your link was changed. The old one redirects to it."),
    "former": Text("Your former link was changed."),
    "photo": Text("Your photo was saved."),
    "removed": Text("Your photo was removed."),
}
# A file that is only a little too large is refused at its field, with the rest of the page.
ACCEPTED = 2 * MAX_BYTES
UPLOADS = RateLimit("photos", 20)


class AboutForm(Struct, frozen=True, kw_only=True):
    name: str = ""
    timezone: str = ""
    locale: str = ""


class LinkForm(Struct, frozen=True, kw_only=True):
    username: str = ""


class FormerLinkForm(Struct, frozen=True, kw_only=True):
    username: str = ""
    redirect: Literal["yes", "no"] = "no"


class PhotoForm(Struct, frozen=True, kw_only=True):
    photo: File | None = None


@get(HERE)
async def show_profile(work: Work, user: User, form: Form[Any] = Form()) -> Response:
    """Show the profile, with the faults of one of its forms."""
    about = {"name": user.name, "timezone": user.zone, "locale": user.locale}
    return page(
        "dashboard/profile/profile.html",
        user,
        here=HERE,
        notices=NOTICES,
        base=f"{work.runtime.settings.public_url}/",
        initials=initials(user.name),
        photo=photo_path(user.photo),
        form=form,
        about=form.of(AboutForm).begin(about),
        link=form if form.kind is FormerLinkForm else form.of(LinkForm).begin({"username": user.username}),
        former=await list_former_usernames(work, user),
        curl=curl(work, user, "/me"),
    )


@post(HERE, shows=show_profile)
async def change_profile(work: Work, user: User, form: Form[AboutForm]) -> Response:
    """Change name, time zone and language, all of them or none."""
    sent = form.get()
    wanted = UserSettings(name=sent.name, zone=read_zone(sent.timezone) or sent.timezone, locale=sent.locale)
    await change_user_settings(work, user, wanted)
    return redirect(f"{HERE}?done=saved")


@post(f"{HERE}/link", shows=show_profile, at={Conflict: "username"})
async def change_link(work: Work, user: User, form: Form[LinkForm]) -> Response:
    """Change the username, which is the first word of the host's link."""
    await change_user_settings(work, user, UserSettings(username=form.get().username))
    return redirect(f"{HERE}?done=link")


@post(f"{HERE}/link/former", shows=show_profile)
async def change_former_link(work: Work, user: User, form: Form[FormerLinkForm]) -> Response:
    """Choose whether a former link leads to the host's page."""
    sent = form.get()
    await set_username_leads(work, user, sent.username, leads=sent.redirect == "yes")
    return redirect(f"{HERE}?done=former")


@post(f"{HERE}/photo", transaction="none", max_bytes=ACCEPTED, limit=UPLOADS, shows=show_profile)
async def upload_photo(work: Work, user: User, form: Form[PhotoForm]) -> Response:
    """Prepare a picture while no connection is held, then keep it."""
    sent = form.get().photo
    if sent is None:
        raise Invalid(details={"photo": EMPTY})
    picture = await prepare_picture(sent.body)
    async with work.transaction():
        await set_user_photo(work, user, picture)
    return redirect(f"{HERE}?done=photo")


@get(f"{HERE}/photo/remove")
async def ask_to_remove_photo(user: User) -> Response:
    path = photo_path(user.photo)
    if path is None:
        return redirect(HERE)
    return page("dashboard/profile/remove_photo.html", user, here=HERE, photo=path)


@post(f"{HERE}/photo/remove")
async def remove_photo(work: Work, user: User) -> Response:
    await remove_user_photo(work, user)
    return redirect(f"{HERE}?done=removed")
