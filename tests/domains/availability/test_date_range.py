"""The days that a request asks about."""

from datetime import date

import pytest

from openslot.domains.availability.models import Days
from openslot.domains.availability.months import default_days, find_days_faults
from openslot.platform.core.times import get_zone
from tests.domains.availability.cases import at


@pytest.mark.parametrize(
    ("first", "last", "meant"),
    [
        (None, None, Days(date(2026, 3, 3), date(2026, 3, 10))),
        (date(2026, 5, 1), None, Days(date(2026, 5, 1), date(2026, 5, 8))),
        (date(2026, 2, 1), None, Days(date(2026, 2, 1), date(2026, 3, 10))),
        (None, date(2026, 3, 4), Days(date(2026, 3, 3), date(2026, 3, 4))),
        (date(2026, 2, 1), date(2026, 2, 1), Days(date(2026, 2, 1), date(2026, 2, 1))),
    ],
)
def test_dates_left_out_begin_today_in_the_viewers_zone(first: date | None, last: date | None, meant: Days) -> None:
    now = at("2026-03-02 20:00")  # 3 March in Auckland
    assert default_days(first=first, last=last, zone=get_zone("Pacific/Auckland"), now=now) == meant


def test_last_week_of_the_calendar_does_not_overflow() -> None:
    days = default_days(first=date.max, last=None, zone=get_zone("UTC"), now=at("2026-03-02 00:00"))
    assert find_days_faults(days).keys() == {"startDate", "endDate"}


@pytest.mark.parametrize(
    ("first", "last", "fields"),
    [
        ("2026-03-02", "2026-03-02", set()),
        ("2026-03-02", "2026-05-02", set()),  # 62 days
        ("2026-03-02", "2026-05-03", {"endDate"}),  # 63 days
        ("2026-03-02", "2026-03-01", {"endDate"}),
        ("1969-12-31", "2201-01-01", {"startDate", "endDate"}),
    ],
)
def test_days_are_in_order_and_62_at_most(first: str, last: str, fields: set[str]) -> None:
    assert find_days_faults(Days(date.fromisoformat(first), date.fromisoformat(last))).keys() == fields
