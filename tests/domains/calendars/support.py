"""Bookings and their events, changed on either side."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import icalendar

from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.calendars.recurrence import Budget, expand
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR
from tests.support.radicale import Radicale


async def shown(radicale: Radicale, place: str, booking: Booking) -> Any:
    """Read a booking's event as another client."""
    found = await radicale.send("GET", f"{place}{booking.id}.ics")
    assert found.status_code == 200
    (component,) = icalendar.Calendar.from_ical(found.text).walk("VEVENT")
    return component


async def move(runtime: Runtime, booking: Booking, hours: int) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), booking.starts_at + hours * HOUR)


async def cancel(runtime: Runtime, booking: Booking) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await bookings.cancel_booking(work, BookingRef(booking.id, None))


async def move_in_calendar(radicale: Radicale, place: str, booking: Booking, *, start: str, end: str) -> None:
    """Move a booking's event as the host's own program would, times as `103000`."""
    url = f"{place}{booking.id}.ics"
    text = (await radicale.send("GET", url)).text
    lines = [
        f"DTSTART:20260316T{start}Z"
        if line.startswith("DTSTART")
        else f"DTEND:20260316T{end}Z"
        if line.startswith("DTEND")
        else line
        for line in text.splitlines()
    ]
    await radicale.put(url, "\r\n".join(lines))


def unbounded(rule: str, start: datetime, budget: Budget) -> Iterator[datetime]:
    first, last = (datetime.fromisoformat(day) for day in ("2026-03-01", "2028-03-01"))
    return expand(rule, start, first=first, last=last, budget=budget)
