"""The save bar of pages with forms, which a browser fetches when something is changed, and keeps."""

from functools import cache

from openslot.doors.http.assets import Asset, make_asset
from openslot.doors.web.shared.pages import HTML, locale_of, render
from openslot.doors.web.shared.static_files import send_versioned
from openslot.doors.web.shared.templating import templates
from openslot.platform.i18n.languages import Language, Locale, find_locale
from openslot.platform.routing import Request, Response, get


@get("/help/save-bar")
async def send_save_bar(request: Request) -> Response:
    """Send the bar and its questions; they are the same for everyone."""
    locale = find_locale(request.query.get("lang", "")) or locale_of(request)
    return send_versioned(request, find_bar(locale.language))


# benchmarks/caches.py: bar of a form, 4.1 times
@cache
def find_bar(language: Language) -> Asset:
    """Write the bar, once."""
    return make_asset(render("layout/save_bar.html", Locale(language=language, formats=language.formats)), HTML)


def bar_url(locale: Locale) -> str:
    return f"/help/save-bar?lang={locale.language.tag}&v={find_bar(locale.language).version}"


templates.globals["save_bar_url"] = bar_url
