"""Where a calendar shows what, by tables and by whatever spans there are."""

from datetime import UTC, date, datetime
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.doors.web.dashboard.calendar_layout import (
    MAX_LANES,
    DaySpan,
    assign_lanes,
    begin_week,
    clip_span,
    count_minutes,
    find_now,
    join_named_spans,
    pick_hours,
    span_on,
    spans_by_day,
)
from openslot.platform.core.times import DAY, Offsets, day_number, floor_second, get_offsets, get_zone, local_day

ZONES = ("Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "UTC")


def second(text: str) -> int:
    return floor_second(datetime.fromisoformat(text).replace(tzinfo=UTC))


def offsets_of(zone: str, on: date) -> Offsets:
    return get_offsets(get_zone(zone), on, on)


# A zone, a day, a span in UTC, and where it is on that day.
PLACES: list[tuple[str, str, str, str, tuple[int, int] | None]] = [
    ("Europe/Berlin", "2026-03-16", "2026-03-16T10:00", "2026-03-16T10:30", (660, 690)),
    ("Europe/Berlin", "2026-03-17", "2026-03-16T10:00", "2026-03-16T10:30", None),
    ("Asia/Kolkata", "2026-03-16", "2026-03-16T04:00", "2026-03-16T04:45", (570, 615)),
    ("Asia/Kathmandu", "2026-03-16", "2026-03-16T04:00", "2026-03-16T04:10", (585, 595)),
    # Over midnight, it is on both days.
    ("Europe/Berlin", "2026-03-16", "2026-03-16T22:30", "2026-03-17T00:30", (1410, 1440)),
    ("Europe/Berlin", "2026-03-17", "2026-03-16T22:30", "2026-03-17T00:30", (0, 90)),
    # All day, and many days.
    ("Europe/Berlin", "2026-03-16", "2026-03-15T23:00", "2026-03-16T23:00", (0, 1440)),
    ("Europe/Berlin", "2026-03-17", "2026-03-15T23:00", "2026-03-16T23:00", None),
    ("Europe/Berlin", "2026-03-18", "2026-03-10T08:00", "2026-03-25T08:00", (0, 1440)),
    # Clocks go from 02:00 to 03:00: an hour from 01:30 on ends at 03:30.
    ("Europe/Berlin", "2026-03-29", "2026-03-29T00:30", "2026-03-29T01:30", (90, 210)),
    ("Europe/Berlin", "2026-03-29", "2026-03-29T07:00", "2026-03-29T08:00", (540, 600)),
    ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00", (0, 1440)),
    # Clocks go from 03:00 back to 02:00: from the first 02:30 to the second is an hour.
    ("Europe/Berlin", "2026-10-25", "2026-10-25T00:30", "2026-10-25T01:30", (120, 180)),
    ("Europe/Berlin", "2026-10-25", "2026-10-25T08:00", "2026-10-25T09:00", (540, 600)),
    ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00", (0, 1440)),
    # A part of a minute counts as one.
    ("UTC", "2026-03-16", "2026-03-16T10:00:30", "2026-03-16T10:30:30", (600, 631)),
]


@pytest.mark.parametrize(("zone", "on", "start", "end", "place"), PLACES)
def test_a_span_is_at_its_place_on_the_clock(
    zone: str, on: str, start: str, end: str, place: tuple[int, int] | None
) -> None:
    day = date.fromisoformat(on)
    found = span_on(offsets_of(zone, day), day_number(day), second(start), second(end))
    assert found == (None if place is None else DaySpan(*place))


@given(
    zone=st.sampled_from(ZONES),
    start=st.integers(second("2025-01-01"), second("2028-01-01")),
    length=st.integers(60, 3 * DAY),
)
def test_a_span_is_on_exactly_the_days_that_it_touches(zone: str, start: int, length: int) -> None:
    at = datetime.fromtimestamp(start, UTC).date()
    offsets, own = offsets_of(zone, at), get_zone(zone)
    around = range(day_number(at) - 5, day_number(at) + 9)
    shown = dict(spans_by_day(offsets, around, start, start + length))
    touched = {local_day(own, each) for each in (*range(start, start + length, 600), start + length - 1)}

    assert set(shown) == touched
    assert all(0 <= place.start < place.end <= 1440 for place in shown.values())
    first = divmod(start + _offset(zone, start), DAY)
    assert shown[first[0]].start <= first[1] // 60
    assert find_now(offsets, start) == (first[0], DaySpan(first[1] // 60, first[1] // 60))


def _offset(zone: str, instant: int) -> int:
    offset = datetime.fromtimestamp(instant, UTC).astimezone(get_zone(zone)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


LANES: list[tuple[list[tuple[int, int]], list[str]]] = [
    ([(540, 570)], [""]),
    ([(540, 570), (570, 600)], ["", ""]),
    ([(540, 600), (570, 630)], [" in0 of2", " in1 of2"]),
    ([(540, 660), (570, 600), (600, 630)], [" in0 of2", " in1 of2", " in1 of2"]),
    ([(540, 600), (550, 610), (560, 620), (700, 730)], [" in0 of3", " in1 of3", " in2 of3", ""]),
    # Shown longer than they last, so that they can be pressed.
    ([(540, 545), (545, 550)], [" in0 of2", " in1 of2"]),
]


@pytest.mark.parametrize(("places", "classes"), LANES)
def test_meetings_that_overlap_are_side_by_side(places: list[tuple[int, int]], classes: list[str]) -> None:
    assert [lane.classes for lane in assign_lanes([DaySpan(*place) for place in places])] == classes


@given(st.lists(st.tuples(st.integers(0, 1400), st.integers(25, 120)), max_size=MAX_LANES))
def test_no_meeting_hides_another(spans: list[tuple[int, int]]) -> None:
    places = sorted(DaySpan(start, min(start + length, 1440)) for start, length in spans)
    placed = list(zip(places, assign_lanes(places), strict=True))

    assert all(lane.number < lane.of for _, lane in placed)
    for (one, own), (other, theirs) in combinations(placed, 2):
        if one.start < other.end and other.start < one.end:
            assert own.number != theirs.number
            assert own.of == theirs.of


def test_more_meetings_than_lanes_share_the_last() -> None:
    lanes = assign_lanes([DaySpan(540, 600)] * (MAX_LANES + 3))
    assert max(lane.number for lane in lanes) == MAX_LANES - 1


HOURS: list[tuple[list[tuple[int, int]], tuple[int, int]]] = [
    ([], (8, 18)),
    ([(540, 1080)], (8, 19)),
    ([(545, 1030), (600, 700)], (8, 19)),
    ([(0, 60)], (0, 8)),
    ([(1410, 1440)], (16, 24)),
    ([(0, 1440)], (0, 24)),
    ([(600, 660)], (9, 17)),
]


@pytest.mark.parametrize(("places", "hours"), HOURS)
def test_only_hours_in_which_something_happens_are_shown(places: list[tuple[int, int]], hours: tuple[int, int]) -> None:
    assert pick_hours(DaySpan(*place) for place in places) == range(*hours)


def test_what_is_outside_of_the_hours_is_cut_off() -> None:
    assert clip_span(DaySpan(0, 1440), range(8, 19)) == DaySpan(480, 1140)
    assert clip_span(DaySpan(0, 480), range(8, 19)) is None


def test_busy_times_that_overlap_are_one_with_both_names() -> None:
    spans = [(30, 40, "Work"), (0, 10, "Work"), (5, 20, "Family"), (18, 30, "Work")]
    assert join_named_spans(spans) == [(0, 30, "Work, Family"), (30, 40, "Work")]


@pytest.mark.parametrize(
    ("zone", "on", "hours"),
    [
        ("Europe/Berlin", "2026-03-28", 24),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
    ],
)
def test_days_on_which_clocks_change_are_shorter_or_longer(zone: str, on: str, hours: float) -> None:
    day = date.fromisoformat(on)
    assert count_minutes(offsets_of(zone, day), day_number(day)) == hours * 60


@pytest.mark.parametrize(
    ("on", "first_weekday", "first"),
    [("2026-03-16", 0, "2026-03-16"), ("2026-03-22", 0, "2026-03-16"), ("2026-03-16", 6, "2026-03-15")],
)
def test_a_week_begins_where_the_reader_begins_it(on: str, first_weekday: int, first: str) -> None:
    assert begin_week(date.fromisoformat(on), first_weekday) == date.fromisoformat(first)


def test_a_place_is_a_few_classes() -> None:
    assert DaySpan(645, 735).classes == "at h10 m4 n5 H1 M3"
    assert DaySpan(0, 1440).classes == "at H24"
