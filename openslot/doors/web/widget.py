"""The booking widget for other sites: its script, and a page that shows it."""

import re
from functools import cache
from importlib.resources import files

import msgspec
from msgspec.structs import replace

from openslot.domains.accounts.operations import find_user_by_email
from openslot.domains.event_types.operations import get_page_of_host
from openslot.doors.http.assets import Asset, make_asset, send_asset
from openslot.doors.http.security import PAGE_POLICY
from openslot.doors.web.shared.pages import page
from openslot.doors.web.shared.static_files import FOR_GOOD, MEDIA_TYPES
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.i18n.languages import LANGUAGES, Locale
from openslot.platform.i18n.localization import localize
from openslot.platform.routing import Request, Response, get

BOOK, CLOSE = Text("Book a time"), Text("Close")
# Sites name the script without its version, so an update reaches their visitors within the hour.
FOR_AN_HOUR = "public, max-age=3600, stale-while-revalidate=86400"
FOR_EVERY_SITE = {"access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin"}
COMMENT_OR_INDENT = re.compile(r"^\s*(//[^\n]*\n)?", re.MULTILINE)
WORDS = "const WORDS = {};"
# The first host of the demo data; no real account has an address in a domain that can't exist.
DEMO_HOST = "mara@harbor.example"
WITH_FRAMES = f"{PAGE_POLICY.decode()}; frame-src 'self'"


@get("/widget.js")
async def widget_script(request: Request) -> Response:
    script = get_script()
    is_named = request.query.get("v") == script.version
    return send_asset(request, script, {**FOR_EVERY_SITE, "cache-control": FOR_GOOD if is_named else FOR_AN_HOUR})


@cache
def get_script() -> Asset:
    """Read the script once, without comments and indentation, and with its texts in every language."""
    source = (files("openslot.doors.web") / "widget.js").read_text("utf-8")
    body = COMMENT_OR_INDENT.sub("", source).replace(WORDS, f"const WORDS = {_words()};").encode()
    return make_asset(body, MEDIA_TYPES["js"])


def _words() -> str:
    locales = [Locale(language=each, formats=each.formats) for each in LANGUAGES.values()]
    words = {each.language.tag: [str(localize(text, each)) for text in (BOOK, CLOSE)] for each in locales}
    return msgspec.json.encode(words).decode()


@get("/widget-demo", limit=VIEWS, is_public=True)
async def show_widget_demo(work: Work) -> Response:
    base_url = work.runtime.settings.public_url
    host = await find_user_by_email(work, DEMO_HOST)
    offers = (await get_page_of_host(work, host.username)).event_types if host else ()
    offer = next((each for each in offers if each.price is None and each.seats == 1 and each.description), None)
    if host is None or offer is None:
        return page("widget/no_demo.html", None, status=404, base_url=base_url)
    path = f"/{host.username}/{offer.slug}"
    shown = page("widget/demo.html", None, base_url=base_url, path=path, offer=offer, host=host)
    return replace(shown, headers={**shown.headers, "content-security-policy": WITH_FRAMES})
