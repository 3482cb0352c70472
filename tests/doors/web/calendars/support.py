"""Accounts that are connected, and calendars that are lost or can't be read any more."""

from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from openslot.domains.calendars.models import CalendarConnection, Credentials
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Runtime

COUNT = "select count(*) from calendar_connections"
EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//T//T//EN
BEGIN:VEVENT
UID:dentist
DTSTAMP:20260301T000000Z
DTSTART:20260316T100000Z
DTEND:20260316T110000Z
SUMMARY:Dentist
END:VEVENT
END:VCALENDAR
"""


def path_of(url: str) -> str:
    """Leave out the host, which the settings of a test do not know."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


async def spoil_password(runtime: Runtime, connection: CalendarConnection) -> None:
    """Keep another password than the server's."""
    async with runtime.transaction(OPERATOR) as work:
        sealed = await work.db.fetchval("select secret from calendar_connections where id = $1", connection.id)
        secret = msgspec.json.decode(runtime.secrets.open(sealed), type=Credentials)
        wrong = msgspec.structs.replace(secret, password="old")
        new = await seal(work, msgspec.json.encode(wrong).decode())
        await work.db.execute("update calendar_connections set secret = $1, leased_until = null", new)


async def lose(runtime: Runtime, connection: CalendarConnection, booking_id: UUID) -> None:
    """Let a booking's event have vanished from a calendar."""
    await runtime.pool.execute(
        """insert into calendar_events
        (booking_id, calendar_id, href, etag, sequence, starts_at, ends_at, missing_since)
        select id, $1, 'x', 'x', 0, starts_at, ends_at, now() from bookings where id = $2""",
        connection.calendars[0].id,
        booking_id,
    )
