"""Pages: every page and action on one page, with the keys that lead there."""

from openslot.accounts.models import User
from openslot.routing import Response, get
from openslot.web.pages import page


@get("/help")
async def show_help(user: User) -> Response:
    """List pages, actions and keyboard shortcuts."""
    return page("dashboard/help.html", user, here="/help")
