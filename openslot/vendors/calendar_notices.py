"""Where calendars' servers say that something has changed: a notice only makes the connection due."""

from uuid import UUID

from openslot.domains.calendars.channels import get_channel, has_token, read_soon, replace_soon
from openslot.domains.calendars.errors import CalendarNoticeRefused
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Request, Response, post
from openslot.vendors.google.channels import GoogleNotice
from openslot.vendors.microsoft.channels import read_notices

# A vendor sends bursts from few addresses.
LIMIT = RateLimit("calendar-notices", 6000)
# Google sends no body, and Microsoft many items in one.
MAX_BYTES, MAX_ITEMS_BYTES = 64 * 1024, 512 * 1024
LONGEST_VALIDATION = 2000
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


@post("/api/notices/microsoft/{channel_id}", transaction="none", limit=LIMIT, max_bytes=MAX_ITEMS_BYTES)
async def receive_microsoft_notice(request: Request, work: Work, channel_id: UUID) -> Response:
    """Read the calendars of a connection soon, if an item has the secret of its subscription; or prove the address."""
    if "validationToken" in request.query:
        return await _prove_address(work, channel_id, request.query["validationToken"])
    items = read_notices(request.body)
    channel = await get_channel(work, channel_id)
    told = {each.lifecycle_event for each in items if each.concerns(channel) and has_token(channel, each.token)}
    if not told:
        raise CalendarNoticeRefused
    if "subscriptionRemoved" in told:
        await replace_soon(work, channel)
    else:
        await read_soon(work, channel, is_renewed="reauthorizationRequired" in told)
    return Response(status=202)


async def _prove_address(work: Work, channel_id: UUID, token: str) -> Response:
    """Send back what Microsoft sends while it makes a subscription, as a text that no browser takes for a page."""
    if not 0 < len(token) <= LONGEST_VALIDATION:
        raise CalendarNoticeRefused
    await get_channel(work, channel_id)
    return Response(headers={"content-type": "text/plain; charset=utf-8"}, body=token.encode())
