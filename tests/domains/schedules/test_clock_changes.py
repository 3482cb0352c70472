"""Clock changes: a range over a gap is shorter, one over a fold is longer, and others are not mentioned."""

from datetime import date
from uuid import UUID

import pytest

from openslot.domains.schedules.models import DateOverride, Hours, Schedule, TimeRange
from openslot.domains.schedules.rules import find_clock_changes

OWNER = UUID(int=1)
GAP, FOLD = date(2026, 3, 29), date(2026, 10, 25)
YEAR = (date(2026, 1, 1), date(2026, 12, 31))


def make(zone: str = "Europe/Berlin", *, sunday: Hours = (), saturday: Hours = (), **changes: object) -> Schedule:
    weekly = ((), (), (), (), (), saturday, sunday)
    return Schedule(id=OWNER, owner_id=OWNER, name="x", zone=zone, weekly_hours=weekly, **changes)  # type: ignore[arg-type]


def measure(schedule: Schedule) -> list[tuple[date, int]]:
    found = find_clock_changes(schedule, first=YEAR[0], last=YEAR[1])
    return [(change.on, each.minutes) for change in found for each in change.ranges]


@pytest.mark.parametrize(
    ("hours", "minutes"),
    [
        (TimeRange(60, 300), [(GAP, 180), (FOLD, 300)]),
        (TimeRange(120, 180), [(GAP, 0), (FOLD, 120)]),
        (TimeRange(0, 1440), [(GAP, 1380), (FOLD, 1500)]),
        (TimeRange(180, 600), []),
        (TimeRange(0, 120), []),
    ],
)
def test_only_ranges_that_meet_the_change_are_told(hours: TimeRange, minutes: list[tuple[date, int]]) -> None:
    assert measure(make(sunday=(hours,))) == minutes


def test_hours_that_begin_the_evening_before_are_told() -> None:
    assert measure(make(saturday=(TimeRange(22 * 60, 28 * 60),))) == [(GAP, 300), (FOLD, 420)]


def test_an_override_counts_instead_of_the_weekday() -> None:
    closed = (DateOverride(GAP), DateOverride(FOLD, (TimeRange(600, 700),)))
    assert measure(make(sunday=(TimeRange(60, 300),), overrides=closed)) == []


def test_zones_without_changes_have_none() -> None:
    assert measure(make("Asia/Tokyo", sunday=(TimeRange(0, 1440),))) == []


def test_what_clocks_show_before_and_after_is_told() -> None:
    forward, back = find_clock_changes(make(sunday=(TimeRange(60, 300),)), first=YEAR[0], last=YEAR[1])

    assert (forward.is_forward, f"{forward.from_time:%H:%M}", f"{forward.to_time:%H:%M}") == (True, "02:00", "03:00")
    assert (back.is_forward, f"{back.from_time:%H:%M}", f"{back.to_time:%H:%M}") == (False, "03:00", "02:00")
