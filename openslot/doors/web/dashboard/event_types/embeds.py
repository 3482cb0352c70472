"""Pages: how to show an event type on another site, with the code to copy."""

import re
from html import escape
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventTypeOverview
from openslot.domains.event_types.operations import get_event_type_overview
from openslot.doors.http.security import PAGE_POLICY
from openslot.doors.web.dashboard.event_types.overview import links_of
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import LANGUAGES, Locale, find_locale
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Request, Response, get

WITH_FRAMES = f"{PAGE_POLICY.decode()}; frame-src 'self'"
HEX = re.compile(r"#?[0-9a-f]{6}", re.ASCII | re.IGNORECASE)
MODES = {
    "inline": (Text("Inline"), Text("The calendar is part of the page and as tall as it needs to be.")),
    "popup": (Text("Popup"), Text("A button opens the calendar in a dialog.")),
    "floating": (
        Text("Floating button"),
        Text("A button in the corner stays visible while visitors scroll, and opens the calendar in a dialog."),
    ),
}
THEMES = {"auto": Text("System default"), "light": Text("Light"), "dark": Text("Dark")}
# For sites that are read from left to right; on others the widget swaps them.
POSITIONS = {"end": Text("Right"), "start": Text("Left")}
EMBED_CHOICES = {
    "themes": THEMES,
    "positions": POSITIONS,
    "languages": {tag: language.name for tag, language in LANGUAGES.items()},
}


class EmbedOptions(Struct, frozen=True, kw_only=True):
    """How the widget looks on the other site, as the address says it; what can't be understood is left out."""

    theme: str = "auto"
    accent: str = ""
    position: str = "end"
    language: str = ""
    mode: str = "inline"
    locale: Locale
    """The language of the link's text."""

    @property
    def query(self) -> str:
        """What was chosen, as the further part of an address."""
        chosen = {"theme": self.theme, "position": self.position, "language": self.language}
        color = {"own_color": "on", "accent": self.accent} if self.accent else {}
        return f"&{urlencode(chosen | color)}"

    def attributes(self, mode: str) -> dict[str, str]:
        """List the attributes of the element that differ from what it does without them."""
        wanted = {
            "mode": mode if mode != "inline" else "",
            "theme": self.theme if self.theme != "auto" else "",
            "accent": self.accent,
            "position": self.position if mode == "floating" and self.position != "end" else "",
            "lang": self.language,
        }
        return {name: value for name, value in wanted.items() if value}


class Snippet(Struct, frozen=True, kw_only=True):
    mode: str
    title: Text
    about: Text
    code: str


def read_embed(request: Request) -> EmbedOptions:
    query = request.query
    language = query.get("language", "")
    accent = query.get("accent", "").strip().lower()
    return EmbedOptions(
        theme=query.get("theme", "") if query.get("theme") in THEMES else "auto",
        accent=accent.removeprefix("#") if query.get("own_color") and HEX.fullmatch(accent) else "",
        position=query.get("position", "") if query.get("position") in POSITIONS else "end",
        language=language if language in LANGUAGES else "",
        mode=query.get("mode", "") if query.get("mode") in MODES else "inline",
        locale=find_locale(language) or locale_of(request),
    )


def list_snippets(work: Work, user: User, found: EventTypeOverview, options: EmbedOptions) -> list[Snippet]:
    """Write the code of every mode; none where the link can't be shown."""
    url = links_of(work, user, found).url
    if url is None:
        return []
    script = f"{work.runtime.settings.public_url}/widget.js"
    label = Text("Book “%(event)s” with %(host)s", event=found.event_type.name, host=user.name)
    text = str(localize(label, options.locale))
    return [
        Snippet(mode=mode, title=title, about=about, code=_write(script, url, text, options.attributes(mode)))
        for mode, (title, about) in MODES.items()
    ]


@get("/event-types/{event_type_id}/embed")
async def show_embed(request: Request, work: Work, user: User, event_type_id: UUID) -> Response:
    """Show the code of every mode, and the link and its code to print."""
    found = await get_event_type_overview(work, user, event_type_id)
    options = read_embed(request)
    return page(
        "dashboard/event_types/embed.html",
        user,
        here="/event-types",
        event_type=found.event_type,
        links=links_of(work, user, found),
        embed=options,
        snippets=list_snippets(work, user, found, options),
        path=f"/event-types/{event_type_id}",
        embed_choices=EMBED_CHOICES,
    )


@get("/event-types/{event_type_id}/embed/try")
async def try_embed(request: Request, work: Work, user: User, event_type_id: UUID) -> Response:
    """Show the widget in one mode on a page that stands for another site."""
    found = await get_event_type_overview(work, user, event_type_id)
    options, links = read_embed(request), links_of(work, user, found)
    if links.url is None or not found.event_type.active:
        return redirect(f"/event-types/{event_type_id}/embed")
    shown = page(
        "dashboard/event_types/try.html",
        user,
        event_type=found.event_type,
        # The page is shown at the address that the browser knows, which may not be the public one.
        address=links.url.removeprefix(work.runtime.settings.public_url),
        attributes=options.attributes(options.mode),
        title=MODES[options.mode][0],
        path=f"/event-types/{event_type_id}",
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": WITH_FRAMES})


def _write(script: str, url: str, label: str, attributes: dict[str, str]) -> str:
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return (
        f'<script src="{escape(script)}" async></script>\n\n'
        f"<openslot-booking{written}>\n"
        f'  <a href="{escape(url)}">{escape(label, quote=False)}</a>\n'
        "</openslot-booking>"
    )
