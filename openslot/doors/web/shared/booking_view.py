"""What every booking page is shown with: its look, its language and the headers that let others frame it."""

from functools import cache
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import DEFAULT_COLOR, PLAIN_PAGE, PageBrand
from openslot.domains.accounts.profiles.operations import find_branded_host, photo_path
from openslot.domains.bookings.links import manage_token
from openslot.doors.http.security import FRAMED_POLICY
from openslot.doors.web.shared.booking_calendar import format_now
from openslot.doors.web.shared.options import Options
from openslot.doors.web.shared.pages import page
from openslot.doors.web.shared.static_files import accent_url
from openslot.doors.web.shared.templating import get_template, templates
from openslot.doors.web.shared.words import format_city
from openslot.doors.web.shared.zone_search import find_zones, list_offered, name_zone
from openslot.doors.web.shared.zones import zones_by_region
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Work
from openslot.platform.i18n.languages import ENGLISH, Hours, usual_hours
from openslot.platform.routing import Response

FRAMED = FRAMED_POLICY.decode()


@cache
def inline_icon(name: str) -> Markup:
    return Markup(get_template("booking/icons.html", ENGLISH).render(name=name))  # noqa: S704 - a template escapes


templates.globals["inline_icon"] = inline_icon


class ShownZone(Struct, frozen=True, kw_only=True):
    name: str
    city: str
    now: str


def show(
    template: str,
    options: Options,
    *,
    color: str,
    brand: PageBrand = PLAIN_PAGE,
    status: int = 200,
    is_personal: bool = False,
    policy: str = FRAMED,
    **values: Any,
) -> Response:
    """Respond with a booking page, in the language and the colors that its address asks for."""
    accent = accent_url(options.accent or color)
    shown = page(
        template, None, status=status, locale=options.locale, options=options, accent=accent, brand=brand, **values
    )
    headers = {**shown.headers, "content-security-policy": policy, "vary": "accept, accept-language"}
    if "preview" in values:
        headers["link"] = values["preview"].links
    if not is_personal:
        # The page may be kept for the back button, but every visit requests it again.
        headers["cache-control"] = "private, no-cache"
    return replace(shown, headers=headers)


def paying_policy(settings: Settings) -> str:
    """Let a form lead to where people pay or are sent by the host: browsers hold redirects to the policy."""
    provider = urlsplit(settings.stripe_url)
    own = "" if provider.scheme == "https" else f" {provider.scheme}://{provider.netloc}"
    return FRAMED.replace("form-action 'self'", f"form-action 'self' https:{own}")


def hours_of(options: Options) -> Hours:
    """Choose between 12 and 24 hours: what is asked for, or what is usual."""
    return options.hours or usual_hours(options.locale.formats)


def show_zone(zone: str, options: Options, work: Work) -> ShownZone:
    formats = options.locale.formats
    now = format_now(zone, formats, hours_of(options), now=work.now)
    return ShownZone(name=zone, city=format_city(zone, formats), now=now)


class Look(Struct, frozen=True, kw_only=True):
    color: str
    brand: PageBrand = PLAIN_PAGE
    photo: str | None = None
    """The path of the host's photo."""


async def find_look(work: Work, host_id: UUID, *, color: str) -> Look:
    """Find how a host's pages look; without a color of their brand they have this one."""
    host = await find_branded_host(work, host_id, color=color)
    if host is None:
        return Look(color=color)
    return Look(color=host.brand.color, brand=host.page, photo=photo_path(host.photo))


def manage_path(work: Work, booking_id: UUID, options: Options, *, done: str) -> str:
    """Write the path of a booking's own page, which first says what was done."""
    kept = options.query.replace("?", "&", 1)
    return f"/manage/{manage_token(work.runtime, booking_id)}?done={done}{kept}"


def zones_page(work: Work, options: Options, *, back: str, host_zone: str) -> Response:
    """Show the zones that a search finds, or all of them, with the reader's and the host's on top."""
    locale, hours = options.locale, hours_of(options)
    offered = list_offered(locale.language)
    if options.search.strip():
        found = find_zones(options.search, locale, now=work.now)
        groups = [("", found)] if found else []
    else:
        on_top = dict.fromkeys([options.zone.key if options.zone else host_zone, host_zone])
        regions = ((each.name, [offered[zone] for zone, _ in each.zones]) for each in zones_by_region(locale))
        groups = [("", [name_zone(zone, locale) for zone in [*on_top, "UTC"]]), *regions]
    clocks = {
        each.zone: format_now(each.zone, locale.formats, hours, now=work.now) for _, zones in groups for each in zones
    }
    return show("booking/zones.html", options, color=DEFAULT_COLOR, groups=groups, clocks=clocks, back=back)
