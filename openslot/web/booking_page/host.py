"""A host's page: who they are and what can be booked with them."""

from openslot.core.work import Work
from openslot.event_types.operations import get_host_page
from openslot.routing import Request, Response, get
from openslot.web.booking_page.facts import list_facts
from openslot.web.booking_page.options import read_options
from openslot.web.booking_page.view import find_colour, initials, show


@get("/{username}")
async def show_host(work: Work, request: Request, username: str) -> Response:
    """Show a host's public event types."""
    options = read_options(request)
    host = await get_host_page(work, username)
    colour = await find_colour(work, host.event_types[0] if host.event_types else None)
    offers = [(each, list_facts(each, host.name, options.locale)) for each in host.event_types]
    return show("booking/host.html", options, colour=colour, host=host, offers=offers, initials=initials(host.name))
