"""Pages: how a user wants their own pages to look, and the list of all places for screens without a navigation."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from openslot.domains.accounts.models import ColorTheme, Preferences, User, UserSettings
from openslot.domains.accounts.operations import change_user_settings, set_user_preferences
from openslot.doors.web.shared.frame import FIRST_WEEKDAYS, SYSTEM
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.sign_in import local_path
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import Hours
from openslot.platform.routing import Form, Response, get, post

T = TypeVar("T")
THEMES: dict[str, ColorTheme | None] = {SYSTEM: None, **{theme.value: theme for theme in ColorTheme}}
HOURS: dict[str, Hours] = {"12": 12, "24": 24}
DAYS = {str(day): day for day in FIRST_WEEKDAYS}


class PreferencesForm(Struct, frozen=True, kw_only=True):
    """One of the buttons of the account menu; the language is sent with each."""

    theme: str = ""
    hours: str = ""
    first_weekday: str = ""
    language: str = ""
    back: str = "/"


@post("/settings/preferences")
async def change_preferences(work: Work, user: User, form: Form[PreferencesForm]) -> Response:
    """Change one preference, and show the page again from which it was changed."""
    sent = form.get()
    wanted = Preferences(
        theme=_choose("theme", sent.theme, THEMES) if sent.theme else user.theme,
        hour_format=_choose("hours", sent.hours, HOURS) if sent.hours else user.hour_format,
        first_weekday=_choose("first_weekday", sent.first_weekday, DAYS) if sent.first_weekday else user.first_weekday,
    )
    await set_user_preferences(work, user, wanted)
    if sent.language:
        await change_user_settings(work, user, UserSettings(locale=sent.language))
    return redirect(local_path(sent.back))


def _choose(field: str, sent: str, choices: Mapping[str, T]) -> T:
    if sent not in choices:
        raise Invalid(details={field: Text("must be one of %(choices)s", choices=", ".join(choices))})
    return choices[sent]


@get("/pages")
async def show_places(user: User) -> Response:
    """List the places that a phone's bar has no room for."""
    return page("dashboard/places.html", user, here="/pages")
