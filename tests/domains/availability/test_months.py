"""Months of the asker's calendar: their first and last days, across years and to the end of what is known."""

from datetime import date

import pytest

from openslot.domains.availability.models import Days, Slots
from openslot.domains.availability.months import begin_month, days_to_read, end_month, nearest, split_months

TODAY = date(2026, 12, 20)


@pytest.mark.parametrize(
    ("on", "later", "first", "last"),
    [
        (date(2026, 12, 20), 0, date(2026, 12, 1), date(2026, 12, 31)),
        (date(2026, 12, 20), 1, date(2027, 1, 1), date(2027, 1, 31)),
        (date(2027, 1, 31), 1, date(2027, 2, 1), date(2027, 2, 28)),
        (date(2028, 3, 1), -1, date(2028, 2, 1), date(2028, 2, 29)),
        (date(2027, 1, 1), -1, date(2026, 12, 1), date(2026, 12, 31)),
        (date(2200, 12, 5), 1, date(2200, 12, 1), date(2200, 12, 31)),
    ],
)
def test_a_month_has_a_first_and_a_last_day(on: date, later: int, first: date, last: date) -> None:
    assert begin_month(on, later=later) == first
    assert end_month(first) == last


def test_this_month_and_the_next_are_read_first() -> None:
    assert days_to_read(None, today=TODAY) == Days(TODAY, date(2027, 1, 31))


def test_a_month_is_read_from_today_at_the_earliest() -> None:
    assert days_to_read(date(2026, 12, 1), today=TODAY) == Days(TODAY, date(2026, 12, 31))
    assert days_to_read(date(2027, 3, 1), today=TODAY) == Days(date(2027, 3, 1), date(2027, 3, 31))
    assert days_to_read(date(2020, 3, 1), today=TODAY) == Days(TODAY, date(2026, 12, 31))


def test_days_are_divided_by_their_months() -> None:
    assert list(split_months(Days(TODAY, date(2027, 2, 3)))) == [
        Days(TODAY, date(2026, 12, 31)),
        Days(date(2027, 1, 1), date(2027, 1, 31)),
        Days(date(2027, 2, 1), date(2027, 2, 3)),
    ]
    assert list(split_months(Days(TODAY, TODAY))) == [Days(TODAY, TODAY)]


def test_the_last_month_that_is_known_ends() -> None:
    last = Days(date(2200, 12, 1), date(2200, 12, 31))

    assert list(split_months(Days(date(2200, 11, 1), last.last))) == [Days(date(2200, 11, 1), date(2200, 11, 30)), last]


def test_the_nearest_starts_are_in_order_and_without_the_one_asked_for() -> None:
    slots = Slots([100, 200, 290, 300, 320, 900], 30)

    assert nearest(slots, 300, max_=3) == [200, 290, 320]
    assert nearest(slots, 0, max_=3) == [100, 200, 290]
    assert nearest(Slots([], 30), 300, max_=3) == []
