"""The list of a time zone's field: all zones, which a browser keeps, and those that a search finds."""

from functools import cache

from openslot.doors.http.assets import Asset, make_asset
from openslot.doors.web.shared.pages import HTML, locale_of, page, render
from openslot.doors.web.shared.static_files import send_versioned
from openslot.doors.web.shared.templating import templates
from openslot.doors.web.shared.zone_search import find_zones, list_offered, write_zone
from openslot.doors.web.shared.zones import former_names, zones_by_region
from openslot.platform.core.work import Work
from openslot.platform.i18n.languages import Language, Locale, find_locale
from openslot.platform.routing import Request, Response, get


@get("/help/zones")
async def list_zones(request: Request, work: Work) -> Response:
    """Send the zones that a search finds, or all of them; they are the same for everyone."""
    locale = find_locale(request.query.get("lang", "")) or locale_of(request)
    search = request.query.get("search", "")
    if search.strip():
        found = find_zones(search, locale, now=work.now)
        return page("layout/zones.html", None, locale=locale, groups=[("", found)] if found else [])
    return send_versioned(request, find_list(locale.language))


# benchmarks/caches.py: list of zones, 110 times
@cache
def find_list(language: Language) -> Asset:
    """Write the list of all zones, once."""
    locale, offered = Locale(language=language, formats=language.formats), list_offered(language)
    regions = ((each.name, [offered[zone] for zone, _ in each.zones]) for each in zones_by_region(locale))
    groups = [("", [offered["UTC"]]), *regions]
    return make_asset(render("layout/zones.html", locale, groups=groups), HTML)


def list_url(locale: Locale) -> str:
    return f"/help/zones?lang={locale.language.tag}&v={find_list(locale.language).version}"


templates.globals |= {
    "former_names": former_names,
    "find_zones": find_zones,
    "write_zone": write_zone,
    "zones_url": list_url,
}
