"""Pages: unsubscribing from marketing mail, by a link and without signing in."""

from openslot.agents import unsubscribing
from openslot.core.work import Work
from openslot.routing import Response, get, post
from openslot.web.pages import page


@get("/unsubscribe/{token}")
async def show_unsubscribe(work: Work, token: str) -> Response:
    """Ask whether to unsubscribe; looking at the page changes nothing, because programs follow links too."""
    _, is_done = await unsubscribing.get_recipient(work, token)
    return page("unsubscribe.html", None, token=token, is_done=is_done)


@post("/unsubscribe/{token}")
async def unsubscribe(work: Work, token: str) -> Response:
    """Unsubscribe at once, whatever the form says: RFC 8058 needs no cookie and no second step."""
    await unsubscribing.unsubscribe(work, token)
    return page("unsubscribe.html", None, token=token, is_done=True)
