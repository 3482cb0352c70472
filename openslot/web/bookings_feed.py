"""A user's bookings for calendar programs, by a secret link."""

from openslot.core.work import Work
from openslot.http.limits import take_own
from openslot.integrations.calendars.feeds import get_feed_owner, write_bookings
from openslot.routing import RateLimit, Response, get
from openslot.web.pages import NOT_KEPT

READS = RateLimit("feed", 10)
"""How often one feed is sent: programs look every few minutes, and a long feed takes long to write."""


@get("/feed/{token}")
async def bookings_feed(work: Work, token: str) -> Response:
    """Send the bookings of the user who created this link."""
    owner = await get_feed_owner(work, token.removesuffix(".ics"))
    await take_own(work.runtime, READS, owner.id)
    content = await write_bookings(work, owner)
    return Response(headers={**NOT_KEPT, "content-type": "text/calendar; charset=utf-8"}, body=content)
