"""Hours as fields: what people type is read, and every fault and note stands at its field."""

import pytest

from openslot.domains.schedules.models import TimeRange
from openslot.doors.web.dashboard.availability.range_fields import (
    NO_LENGTH,
    NOT_A_START,
    NOT_A_TIME,
    fill_day,
    fill_week,
    find_clock,
    find_faults,
    read_typed,
)


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("09:00", 540),
        ("9", 540),
        (" 9:30 ", 570),
        ("9.30", 570),
        ("17h30", 1050),
        ("5 pm", 1020),
        ("12am", 0),
        ("12:15 p.m.", 735),
        ("24:00", 1440),
        ("٠٩:٣٠", 570),
        ("\uff10\uff19:\uff10\uff10", 540),
    ],
)
def test_clock_times_are_read_as_people_type_them(text: str, minute: int) -> None:
    assert find_clock(text) == minute


@pytest.mark.parametrize(
    "text", ["", "x", "25:00", "24:01", "9:60", "13 pm", "0 am", "-1", "9:5", "09:00:00", "<b>", "१०" * 40]
)
def test_anything_else_is_no_time(text: str) -> None:
    assert find_clock(text) is None


@pytest.mark.parametrize(
    ("pair", "hours"),
    [
        (("09:00", "17:00"), TimeRange(540, 1020)),
        (("22:00", "02:00"), TimeRange(1320, 1560)),
        (("00:00", "24:00"), TimeRange(0, 1440)),
        (("18:00", "00:00"), TimeRange(1080, 1440)),
    ],
)
def test_an_end_before_its_start_is_on_the_next_day(pair: tuple[str, str], hours: TimeRange) -> None:
    assert fill_day("d", [pair]).hours == (hours,)


@pytest.mark.parametrize(
    ("pair", "start_fault", "end_fault"),
    [
        (("x", "17:00"), NOT_A_TIME, None),
        (("09:00", ""), None, NOT_A_TIME),
        (("24:00", "02:00"), NOT_A_START, None),
        (("09:00", "9"), None, NO_LENGTH),
        (("?", "?"), NOT_A_TIME, NOT_A_TIME),
    ],
)
def test_a_fault_stands_at_its_field(pair: tuple[str, str], start_fault: object, end_fault: object) -> None:
    day = fill_day("d", [pair])

    assert (day.ranges[0].start_fault, day.ranges[0].end_fault) == (start_fault, end_fault)
    assert (bool(find_faults([day])), day.hours) == (True, ())
    assert (day.ranges[0].start, day.ranges[0].end) == pair


def test_ranges_of_a_day_that_overlap_are_told_at_the_second() -> None:
    day = fill_day("d", [("09:00", "12:00"), ("11:59", "13:00")])

    assert [each.start_fault for each in day.ranges] == [None, "overlaps 09:00–12:00"]


def test_hours_over_midnight_may_not_overlap_those_of_the_next_day() -> None:
    week = fill_week([[("22:00", "02:00")], [("01:00", "05:00")], [], [], [], [], [("20:00", "23:00")]])
    assert [bool(find_faults([day])) for day in week] == [False, True, False, False, False, False, False]

    around = fill_week([[("00:30", "05:00")], [], [], [], [], [], [("20:00", "01:00")]])
    assert [bool(find_faults([day])) for day in around] == [True, False, False, False, False, False, False]


def test_breaks_and_midnight_are_noted() -> None:
    monday, *_ = fill_week(
        [[("09:00", "12:00"), ("12:00", "13:00"), ("13:45", "15:00"), ("22:00", "01:00")], [], [], [], [], [], []]
    )

    assert [each.note for each in monday.ranges] == [
        None,
        "Starts right after the previous range",
        "After a break of 45 min",
        "Ends on Tuesday",
    ]


def test_fields_are_read_in_the_order_of_their_numbers() -> None:
    values = {"d1.10.start": "3", "d1.2.start": "1", "d1.2.end": "2", "d1.x.start": "9", "d11.0.start": "8"}

    assert read_typed(values, "d1") == [("1", "2"), ("3", "")]


def test_hours_that_are_too_many_or_too_long_are_cut() -> None:
    values = {f"d.{place}.start": "9" * 500 for place in range(300)}

    assert read_typed(values, "d") == [("9" * 20, "")] * 25
