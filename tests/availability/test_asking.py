"""The days of a request, and what must be read to answer it."""

from datetime import date

import pytest

from openslot.availability.asking import default_days, find_days_faults, find_reach, find_reach_of_start
from openslot.availability.models import Days, Reach
from openslot.core.zones import get_zone
from tests.availability.cases import at, make_event_type, make_schedule

EVENT_TYPE = make_event_type(60, buffer_before=10, buffer_after=20)


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


def test_reach_of_days_has_room_for_buffers_and_whole_weeks() -> None:
    days = Days(date(2026, 3, 4), date(2026, 3, 9))
    assert find_reach(EVENT_TYPE, make_schedule(), days, viewer=get_zone("UTC")) == Reach(
        blocked_from=at("2026-03-03 23:50"),
        blocked_until=at("2026-03-10 01:20"),
        counted_from=at("2026-03-02 05:00"),
        counted_until=at("2026-03-16 04:00"),
    )


def test_reach_of_a_start_is_its_meeting_and_its_week() -> None:
    assert find_reach_of_start(EVENT_TYPE, make_schedule(), at("2026-03-09 03:30")) == Reach(
        blocked_from=at("2026-03-09 03:20"),
        blocked_until=at("2026-03-09 04:50:01"),
        counted_from=at("2026-03-02 05:00"),
        counted_until=at("2026-03-09 04:00"),
    )


def test_date_that_the_viewers_calendar_skips_needs_nothing() -> None:
    skipped = Days(date(2011, 12, 30), date(2011, 12, 30))
    assert find_reach(EVENT_TYPE, make_schedule(), skipped, viewer=get_zone("Pacific/Apia")) is None
