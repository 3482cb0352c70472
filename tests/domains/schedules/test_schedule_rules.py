"""Rules of schedules: clock times, hours of a date, holidays, and what makes no sense."""

from datetime import date, datetime
from typing import get_args
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.schedules.models import (
    WEEKDAYS,
    DateOverride,
    HolidayCalendar,
    OutOfOffice,
    Schedule,
    TimeRange,
    WeeklyHours,
)
from openslot.domains.schedules.rules import (
    find_out_of_office_faults,
    find_schedule_faults,
    holidays_of,
    hours_on,
    write_minute,
)

NINE_TO_FIVE = (TimeRange(540, 1020),)
SCHEDULE = Schedule(
    id=UUID(int=1),
    owner_id=UUID(int=2),
    name="Hours",
    zone="Europe/Berlin",
    weekly_hours=(NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, NINE_TO_FIVE, (), ()),
    overrides=(DateOverride(date(2026, 3, 9), (TimeRange(600, 660),)), DateOverride(date(2026, 3, 10))),
    holidays=HolidayCalendar("DE", "BY"),
)


@pytest.mark.parametrize(("minute", "text"), [(0, "00:00"), (545, "09:05"), (1440, "24:00"), (1560, "02:00")])
def test_minute_is_written_as_a_clock_shows_it(minute: int, text: str) -> None:
    assert write_minute(minute) == text


def test_override_replaces_or_closes_its_date_alone() -> None:
    assert hours_on(SCHEDULE, date(2026, 3, 9)) == (TimeRange(600, 660),)
    assert hours_on(SCHEDULE, date(2026, 3, 10)) == ()
    assert hours_on(SCHEDULE, date(2026, 3, 11)) == NINE_TO_FIVE
    assert hours_on(SCHEDULE, date(2026, 3, 14)) == ()


def test_day_off_in_lieu_is_a_holiday_of_the_year_in_which_it_falls() -> None:
    assert date(2027, 12, 31) in holidays_of(HolidayCalendar("US"), 2027)
    assert all(on.year == 2028 for on in holidays_of(HolidayCalendar("US"), 2028))


def test_sound_schedule_has_no_faults() -> None:
    assert find_schedule_faults(SCHEDULE) == {}
    assert len(WEEKDAYS) == len(get_args(WeeklyHours))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"name": "  "}, {"name"}),
        ({"name": "x" * 201}, {"name"}),
        ({"zone": "Mars/Olympus"}, {"timezone"}),
        ({"zone": "europe/berlin"}, set()),
        ({"weekly_hours": ((TimeRange(1440, 1500),), *[()] * 6)}, {"weeklyHours.monday.0.start"}),
        ({"weekly_hours": (*[()] * 6, (TimeRange(60, 60),))}, {"weeklyHours.sunday.0.end"}),
        ({"weekly_hours": (*[()] * 6, (TimeRange(0, 1440),))}, set()),
        ({"weekly_hours": (*[()] * 6, (TimeRange(1, 1441),))}, {"weeklyHours.sunday.0.end"}),
        ({"weekly_hours": (NINE_TO_FIVE * 25, *[()] * 6)}, {"weeklyHours.monday"}),
        ({"weekly_hours": ((),) * 6}, {"weeklyHours"}),
        ({"overrides": (DateOverride(date(2026, 1, 1)),) * 2}, {"dateOverrides.1.date"}),
        ({"overrides": (DateOverride(date(2026, 1, 1), (TimeRange(9, 8),)),)}, {"dateOverrides.0.hours.0.end"}),
        ({"holidays": HolidayCalendar("ZZ")}, {"holidays.country"}),
        ({"holidays": HolidayCalendar("de")}, {"holidays.country"}),
        ({"holidays": HolidayCalendar("DE", "XX")}, {"holidays.region"}),
        ({"holidays": HolidayCalendar("GB", "SCT")}, set()),
    ],
)
def test_each_fault_is_told_at_its_field(change: dict[str, object], fields: set[str]) -> None:
    assert find_schedule_faults(replace(SCHEDULE, **change)).keys() == fields


def test_time_away_must_end_after_it_begins_and_know_its_offset() -> None:
    early, late = datetime.fromisoformat("2026-01-01T00:00Z"), datetime.fromisoformat("2026-01-02T00:00Z")
    naive = late.replace(tzinfo=None)
    spans = (OutOfOffice(early, late), OutOfOffice(late, early), OutOfOffice(early, naive))
    faults = find_schedule_faults(replace(SCHEDULE, out_of_office=spans))
    assert faults.keys() == {"outOfOffice.1.to", "outOfOffice.2.from"}


def test_too_much_of_anything_is_refused() -> None:
    many = tuple(DateOverride(date.fromordinal(700_000 + n)) for n in range(1001))
    away = OutOfOffice(datetime.fromisoformat("2026-01-01T00:00Z"), datetime.fromisoformat("2026-01-02T00:00Z"))
    faults = find_schedule_faults(replace(SCHEDULE, overrides=many, out_of_office=(away,) * 1001))
    assert faults.keys() == {"dateOverrides", "outOfOffice"}


@pytest.mark.parametrize("reason", ["x" * 201, "Two\nlines", "Bell\x07"])
def test_the_reason_for_time_away_is_one_line(reason: str) -> None:
    early, late = datetime.fromisoformat("2026-01-01T00:00Z"), datetime.fromisoformat("2026-01-02T00:00Z")

    assert find_out_of_office_faults(OutOfOffice(early, late, "Sailing")) == {}
    assert find_out_of_office_faults(OutOfOffice(early, late, reason)).keys() == {"reason"}
    assert find_out_of_office_faults(OutOfOffice(late, early, reason)).keys() == {"reason", "to"}
