"""A host's page: who they are and what can be booked with them."""

from openslot.accounts.profiles import photo_path
from openslot.core.work import Work
from openslot.event_types.operations import get_host_page
from openslot.routing import Request, Response, get
from openslot.web.booking_page.facts import list_facts
from openslot.web.booking_page.for_assistants import write_host
from openslot.web.booking_page.formats import Format, choose_format
from openslot.web.booking_page.former_links import follow_former
from openslot.web.booking_page.options import read_options
from openslot.web.booking_page.preview import preview_host
from openslot.web.booking_page.refusing import limit_views
from openslot.web.booking_page.view import DEFAULT_COLOUR, initials, show
from openslot.web.booking_page.visits import count_visit


@get("/{username}")
@limit_views
@follow_former
async def show_host(work: Work, request: Request, username: str) -> Response:
    """Show a host's public event types."""
    if (wanted := choose_format(request)) is not Format.HTML:
        return await write_host(work, username, wanted)
    options = read_options(request)
    host = await get_host_page(work, username)
    count_visit(work, request, options, username=host.username, zone=host.zone)
    colour = host.event_types[0].colour if host.event_types else DEFAULT_COLOUR
    offers = [(each, list_facts(each, host.name, options.locale)) for each in host.event_types]
    return show(
        "booking/host.html",
        options,
        colour=host.colour or colour,
        photo=photo_path(host.photo),
        host=host,
        preview=preview_host(work, host.name, host.username),
        offers=offers,
        initials=initials(host.name),
    )
