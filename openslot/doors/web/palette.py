"""The palette: pages and actions, which a browser fetches once, and what a host searches by name, also as a page."""

from openslot.domains.access.models import Entry
from openslot.domains.accounts.models import User
from openslot.domains.bookings.operations import search_by_name
from openslot.doors.http.assets import send_asset
from openslot.doors.web.shared.list_queries import read_list_query
from openslot.doors.web.shared.navigation import audiences_of
from openslot.doors.web.shared.pages import NOT_KEPT, find_palette, locale_of, page
from openslot.platform.core.work import Work
from openslot.platform.routing import Request, Response, get

# It shows nothing that is the user's own, and its address changes with its content.
KEPT = {"cache-control": "private, max-age=31536000, immutable"}
IN_PALETTE, ON_PAGE = 4, 20
"""How many of each kind are shown."""


@get("/help")
async def show_help(user: User) -> Response:
    """List pages, actions and keyboard shortcuts."""
    return page("dashboard/help.html", user, here="/help")


@get("/help/palette")
async def send_palette(request: Request, entry: Entry, user: User) -> Response:
    """Send the list of pages and actions, to be kept by the browser as long as it is the same."""
    palette = find_palette(audiences_of(entry), locale_of(request).language)
    is_named = request.query.get("v") == palette.version
    return send_asset(request, palette, KEPT if is_named else NOT_KEPT)


@get("/search")
async def show_search(request: Request, work: Work, user: User) -> Response:
    """Show people, bookings and event types whose name has the text in it."""
    query = read_list_query(request, user, "/search", "q")
    found = await search_by_name(work, user, query["q"], limit=ON_PAGE)
    return page("dashboard/search.html", user, here="/help", form=query.form, found=found)


@get("/search/options")
async def list_options(request: Request, work: Work, user: User) -> Response:
    """Send what the palette adds to the pages while somebody types."""
    query = read_list_query(request, user, "/search", "q")
    found = await search_by_name(work, user, query["q"], limit=IN_PALETTE)
    return page("layout/found.html", user, found=found, all=query.link())
