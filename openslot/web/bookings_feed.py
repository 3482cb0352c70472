"""A user's bookings for calendar programs, by a secret link."""

from openslot.core.work import Work
from openslot.integrations.calendars.feeds import read_feed
from openslot.routing import Response, get
from openslot.web.pages import NOT_KEPT


@get("/feed/{token}")
async def bookings_feed(work: Work, token: str) -> Response:
    """Send the bookings of the user who created this link."""
    content = await read_feed(work, token.removesuffix(".ics"))
    return Response(headers={**NOT_KEPT, "content-type": "text/calendar; charset=utf-8"}, body=content)
