"""Pages: how a user wants their own pages to look, and the list of all places for screens without a navigation."""

from typing import Literal

from msgspec import Struct

from openslot.accounts import operations as accounts
from openslot.accounts.models import ColorTheme, Preferences, User, UserSettings
from openslot.core.work import Work
from openslot.i18n.languages import Hours
from openslot.routing import Form, Response, get, post
from openslot.web.frame import SYSTEM
from openslot.web.pages import page, redirect
from openslot.web.sign_in import local_path

HOURS: dict[str, Hours] = {"12": 12, "24": 24}


class PreferencesForm(Struct, frozen=True, kw_only=True):
    """One of the buttons of the account menu; the language is sent with each."""

    theme: Literal["", "system", "light", "dark"] = ""
    hours: Literal["", "12", "24"] = ""
    first_weekday: Literal["", "0", "5", "6"] = ""
    language: str = ""
    back: str = "/"


@post("/settings/preferences")
async def change_preferences(work: Work, user: User, form: Form[PreferencesForm]) -> Response:
    """Change one preference, and show the page again from which it was changed."""
    sent = form.get()
    wanted = Preferences(
        theme=_read_theme(sent.theme) if sent.theme else user.theme,
        hour_format=HOURS[sent.hours] if sent.hours else user.hour_format,
        first_weekday=int(sent.first_weekday) if sent.first_weekday else user.first_weekday,
    )
    await accounts.set_preferences(work, user, wanted)
    if sent.language:
        await accounts.change_settings(work, user, UserSettings(locale=sent.language))
    return redirect(local_path(sent.back))


def _read_theme(name: str) -> ColorTheme | None:
    return None if name == SYSTEM else ColorTheme(name)


@get("/pages")
async def show_places(user: User) -> Response:
    """List the places that a phone's bar has no room for."""
    return page("dashboard/places.html", user, here="/pages")
