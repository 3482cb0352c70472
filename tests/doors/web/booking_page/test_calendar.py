"""A month as HTML: each time under the reader's own day, whatever their clocks do."""

import re
from datetime import UTC, date, datetime, timedelta
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest

from openslot.domains.availability.models import Slots
from openslot.domains.availability.months import MonthOfSlots
from openslot.doors.web.shared.booking_calendar import show_month
from openslot.platform.core.times import floor_second
from openslot.platform.i18n.languages import DEFAULT

DAYS = re.compile(r'data-day="([^"]+)"[^>]*><h3>[^<]+</h3><div class="starts">(.*?)</div>')
TIMES = re.compile(r'<button name="start" value="([^"]+)">([^<]+)</button>')
HALF_HOUR = timedelta(minutes=30)


def read_month(zone: ZoneInfo, month: date, starts: list[datetime]) -> dict[str, list[tuple[str, str]]]:
    """Show a month with these starts, and read what each day offers."""
    found = Mock(**{"inputs.event_type.seats": 1})
    slots = Slots([floor_second(start) for start in starts], 1800)
    read = MonthOfSlots(
        found=found, slots=slots, zone=zone, today=month, month=month, has_earlier=False, has_later=True
    )
    shown = show_month(read, locale=DEFAULT, hours=24, on=None)
    return {day: TIMES.findall(buttons) for day, buttons in DAYS.findall(shown.times)}


@pytest.mark.parametrize(
    ("name", "month"),
    [
        ("UTC", date(2026, 2, 1)),
        ("Asia/Kathmandu", date(2026, 2, 1)),
        ("Pacific/Kiritimati", date(2026, 2, 1)),
        ("America/New_York", date(2026, 3, 1)),
        ("America/New_York", date(2026, 11, 1)),
        ("Australia/Lord_Howe", date(2026, 4, 1)),
        # Clocks are turned back from midnight to eleven in the evening, and forth from midnight to one.
        ("America/Havana", date(2026, 11, 1)),
        ("America/Santiago", date(2026, 4, 1)),
        ("America/Santiago", date(2026, 9, 1)),
    ],
)
def test_every_time_stands_under_the_day_that_its_reader_has(name: str, month: date) -> None:
    zone = ZoneInfo(name)
    begin = datetime(month.year, month.month, 1, tzinfo=UTC) - timedelta(days=1)
    half_hours = (begin + HALF_HOUR * n for n in range(48 * 33))
    starts = [start for start in half_hours if start.astimezone(zone).date().replace(day=1) == month]

    expected: dict[str, list[tuple[str, str]]] = {}
    for start in starts:
        local = start.astimezone(zone)
        expected.setdefault(str(local.date()), []).append((f"{start:%Y-%m-%dT%H:%M:%SZ}", f"{local:%H:%M}"))
    assert read_month(zone, month, starts) == expected
