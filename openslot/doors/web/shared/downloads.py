"""Files to save or subscribe to: CSV, a booking for any calendar, and a user's bookings for calendar programs."""

import csv
import re
from collections.abc import Callable, Iterable
from io import StringIO
from urllib.parse import quote

from openslot.domains.bookings.links import read_manage_token
from openslot.domains.bookings.models import BookingRef
from openslot.domains.calendars.booking_events import get_feed_owner, write_bookings
from openslot.domains.mail.letters import write_calendar_file
from openslot.doors.http.doors import take_own
from openslot.doors.web.shared.pages import NOT_KEPT
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.text import make_safe
from openslot.platform.core.work import Work
from openslot.platform.routing import RateLimit, Response, get

BOM = "\ufeff"
PLAIN = re.compile(r"[A-Za-z0-9._-]+")
READS = RateLimit("feed", 10)
"""How often one feed is sent: programs look every few minutes, and a long feed takes long to write."""


def write_csv(
    columns: Iterable[str], rows: Iterable[Iterable[str]], *, write_cell: Callable[[str], str] = make_safe
) -> bytes:
    """Write lines below the names of their columns; no cell is a formula."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow([write_cell(column) for column in columns])
    writer.writerows([write_cell(cell) for cell in row] for row in rows)
    # Without the mark, spreadsheets read the file in another encoding.
    return f"{BOM}{text.getvalue()}".encode()


def send_csv(name: str, body: bytes) -> Response:
    headers = {"content-type": "text/csv; charset=utf-8", "content-disposition": f"attachment; filename={name}"}
    return Response(headers={**NOT_KEPT, **headers}, body=body)


def as_attachment(name: str) -> str:
    """Write the header of a file to save; any name can be sent, and none can add to the header."""
    if PLAIN.fullmatch(name):
        return f"attachment; filename={name}"
    return f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}"


@get("/feed/{token}")
async def bookings_feed(work: Work, token: str) -> Response:
    owner = await get_feed_owner(work, token.removesuffix(".ics"))
    await take_own(work.runtime, READS, owner.id)
    content = await write_bookings(work, owner)
    return Response(headers={**NOT_KEPT, "content-type": "text/calendar; charset=utf-8"}, body=content)


@get("/manage/{token}/calendar.ics", limit=VIEWS)
async def calendar_file(work: Work, token: str) -> Response:
    content = await write_calendar_file(work, BookingRef(read_manage_token(work.runtime, token), None))
    headers = {
        "content-type": "text/calendar; charset=utf-8",
        "content-disposition": "attachment; filename=meeting.ics",
    }
    return Response(headers={**NOT_KEPT, **headers}, body=content)
