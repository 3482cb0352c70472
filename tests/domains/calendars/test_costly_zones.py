"""Time zones that take long to work out: the time of a reading ends between two, however few events there are."""

import pytest

from openslot.domains.calendars import zones
from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.recurrence import Budget, TakesTooLongError
from tests.support.ical import calendar, event, scope

RULES = "\r\n".join(f"RRULE:FREQ=YEARLY;BYMONTH={month}" for month in range(1, 11))
PART = f"DTSTART:19700101T000000\r\nTZOFFSETFROM:+0500\r\nTZOFFSETTO:+0500\r\n{RULES}"


def zone(number: int) -> str:
    part = f"BEGIN:STANDARD\r\n{PART}\r\nEND:STANDARD"
    return f"BEGIN:VTIMEZONE\r\nTZID:Q{number}\r\n{part}\r\nEND:VTIMEZONE"


def test_the_time_of_a_reading_ends_between_two_zones() -> None:
    events = [event(f"{number}", start=f"TZID=Q{number}:20260316T120000") for number in range(5)]
    text = calendar(*map(zone, range(5)), *events)
    zones._define.cache_clear()

    with pytest.raises(TakesTooLongError):
        read_events(text, scope("2026-03-01", "2026-04-30"), budget=Budget(seconds=0.05))
