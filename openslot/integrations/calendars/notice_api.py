"""Where calendars' servers say that something has changed: a notice only makes the connection due."""

from uuid import UUID

from openslot.core.work import Work
from openslot.integrations.calendars.channels import get_channel, has_token, read_soon
from openslot.integrations.calendars.errors import CalendarNoticeRefused
from openslot.integrations.calendars.google_channels import GoogleNotice
from openslot.routing import RateLimit, Request, Response, post

# A vendor sends bursts from few addresses.
LIMIT = RateLimit("calendar-notices", 6000)
# The body is empty.
MAX_BYTES = 64 * 1024
TOKEN = "x-goog-channel-token"  # noqa: S105 - the name of a header
LONGEST_TOKEN = 256


@post("/api/notices/google/{channel_id}", transaction="none", limit=LIMIT, max_bytes=MAX_BYTES)
async def receive_google_notice(request: Request, work: Work, channel_id: UUID) -> Response:
    """Read the calendars of a connection soon, if the notice has the token of its channel."""
    headers = request.headers
    token = headers.get(TOKEN, "")
    if not 0 < len(token) <= LONGEST_TOKEN:
        raise CalendarNoticeRefused
    channel = await get_channel(work, channel_id)
    notice = GoogleNotice(
        channel_id=headers.get("x-goog-channel-id", ""),
        resource_id=headers.get("x-goog-resource-id", ""),
        state=headers.get("x-goog-resource-state", ""),
        number=headers.get("x-goog-message-number", ""),
    )
    if not has_token(channel, token) or not notice.concerns(channel):
        raise CalendarNoticeRefused
    # The first one says only that the channel was made.
    if notice.state != "sync":
        await read_soon(work, channel, number=int(notice.number))
    return Response(body={"received": True})
