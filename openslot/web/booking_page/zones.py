"""The list of time zones to choose from, with what their clocks show and a search that needs no script."""

from openslot.core.work import Work
from openslot.routing import Response
from openslot.web.booking_page.clock import say_now
from openslot.web.booking_page.options import Options
from openslot.web.booking_page.view import DEFAULT_COLOUR, hours_of, show
from openslot.web.zone_names import Region, former_names, zone_name, zones_by_region


def zones_page(work: Work, options: Options, *, back: str) -> Response:
    """Show every zone that fits what is searched for."""
    formats, hours = options.locale.formats, hours_of(options)
    regions = [
        Region(region.name, tuple(zone for zone in region.zones if _fits(zone, options.search)))
        for region in zones_by_region(options.locale)
    ]
    clocks = {zone: say_now(zone, formats, hours, now=work.now) for region in regions for zone, _ in region.zones}
    found = [region for region in regions if region.zones]
    return show("booking/zones.html", options, colour=DEFAULT_COLOUR, regions=found, clocks=clocks, back=back)


def _fits(zone: tuple[str, str], search: str) -> bool:
    wanted = search.casefold().strip()
    name, city = zone
    return any(wanted in zone_name(each).casefold() for each in (city, name, *former_names().get(name, ())))
