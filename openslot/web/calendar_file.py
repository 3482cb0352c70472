"""A booking as a file for any calendar, by its manage link."""

from openslot.bookings.links import read_manage_token
from openslot.bookings.models import BookingRef
from openslot.core.work import Work
from openslot.integrations.mail.letters import write_calendar_file
from openslot.routing import Response, get
from openslot.web.booking_page.refusals import VIEWS
from openslot.web.pages import NOT_KEPT


@get("/manage/{token}/calendar.ics", limit=VIEWS)
async def calendar_file(work: Work, token: str) -> Response:
    """Send the calendar file of the booking that a manage link names."""
    content = await write_calendar_file(work, BookingRef(read_manage_token(work.runtime, token), None))
    headers = {
        "content-type": "text/calendar; charset=utf-8",
        "content-disposition": "attachment; filename=meeting.ics",
    }
    return Response(headers={**NOT_KEPT, **headers}, body=content)
