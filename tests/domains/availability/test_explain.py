"""Explanations: the rule that closes a start or a day, and what would open it."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from openslot.domains.availability.explain import explain_day, explain_start, explain_starts
from openslot.domains.availability.models import Busy, Claim, Code, Days, SlotInputs
from openslot.domains.availability.slots import judge, list_slots
from openslot.domains.event_types.models import Limits, RangeWindow, RollingWindow
from openslot.domains.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, TimeRange
from openslot.platform.core.times import at_second
from tests.domains.availability.cases import (
    as_setting,
    at,
    check_each,
    draw_case,
    draw_cases,
    every_day,
    make_event_type,
    make_schedule,
    make_session,
    of_host,
    second,
)
from tests.domains.availability.oracle import Case

NOTHING: Mapping[str, Any] = {}
NOW = at("2026-03-02 12:00")  # 07:00 on a Monday in New York
TEN = second("2026-03-02 15:00")


def make_setting(schedule: Schedule | None = None, *, taken: Mapping[str, Any] = NOTHING, **more: object) -> SlotInputs:
    event_type = make_event_type(**{"duration_minutes": 60, **more})  # type: ignore[arg-type]
    return of_host(event_type, schedule or make_schedule(), now=NOW, **taken)


def tell(inputs: SlotInputs, start: str) -> list[tuple[str, str]]:
    return [(reason.sentence, reason.remedy) for reason in explain_start(inputs, at(start)).reasons]


def test_open_start_needs_no_reason() -> None:
    told = explain_start(make_setting(), at("2026-03-02 15:00"))
    assert (told.code, told.reasons) == (Code.OPEN, ())


@pytest.mark.parametrize(
    ("start", "sentence", "remedy"),
    [
        (
            "2026-03-02 23:00",
            "Outside hours: Monday 2026-03-02 has 09:00–17:00",
            "Add hours or an override for 2026-03-02 that include 18:00–19:00",
        ),
        (
            "2026-03-07 15:00",
            "Outside hours: Saturday 2026-03-07 has no hours",
            "Add hours or an override for 2026-03-07 that include 10:00–11:00",
        ),
        (
            "2026-03-02 15:20",
            "Start times are 60 min apart, counted from 2026-03-02 09:00",
            "Choose 2026-03-02 10:00, or change the slot interval",
        ),
        ("2026-03-01 15:00", "In the past", "Choose a start from 2026-03-02 07:00 on"),
        ("2026-06-01 14:00", "Outside the booking window, 2026-03-02 to 2026-05-01", "Extend the booking window"),
        ("9999-01-01 00:00", "This time does not exist", "Choose a whole minute on a date from 1970 to 2200"),
    ],
)
def test_rule_of_the_event_type_and_its_hours_is_told(start: str, sentence: str, remedy: str) -> None:
    assert tell(make_setting(), start)[0] == (sentence, remedy)


def test_closed_day_is_told_by_its_override() -> None:
    closed = make_schedule(overrides=(DateOverride(date(2026, 3, 2)),))
    assert tell(make_setting(closed), "2026-03-02 15:00") == [
        (
            "Outside hours: the override for 2026-03-02 has no hours",
            "Add hours or an override for 2026-03-02 that include 10:00–11:00",
        )
    ]


def test_notice_is_told_with_the_notice_that_would_do() -> None:
    assert tell(make_setting(min_notice_minutes=1575), "2026-03-02 15:00") == [
        (
            "Requires 1 d 2 h 15 min notice; the earliest start is 2026-03-03 09:15",
            "Lower the minimum notice to 3 h or less",
        )
    ]


def test_range_window_is_told_before_its_first_day() -> None:
    window = RangeWindow(date(2026, 4, 1), date(2026, 4, 2))
    assert tell(make_setting(booking_window=window), "2026-03-02 15:00") == [
        ("Outside the booking window, 2026-04-01 to 2026-04-02", "Let the booking window start earlier")
    ]


def test_limits_are_told_with_their_day_and_week() -> None:
    inputs = make_setting(limits=Limits(1, 1), taken={"booked": [TEN]})
    assert [sentence for sentence, _ in tell(inputs, "2026-03-02 16:00")] == [
        "Limit of 1 a day reached on 2026-03-02",
        "Limit of 1 a week reached in the week of 2026-03-02",
    ]


def test_busy_span_is_told_by_its_calendar_and_time() -> None:
    inputs = make_setting(taken={"busy": [Busy(TEN, TEN + 3600, "Work calendar")]})
    told = explain_start(inputs, at("2026-03-02 15:00"))
    assert told.code is Code.BUSY
    assert told.reasons[0].sentence == "Busy in Work calendar, 10:00–11:00"
    assert (told.reasons[0].starts_at, told.reasons[0].ends_at) == (at("2026-03-02 15:00"), at("2026-03-02 16:00"))


def test_claim_and_full_session_are_told() -> None:
    held = Claim(TEN - 900, TEN + 3600, "hold")
    full = make_session(TEN + 7200, TEN + 10_800, end=TEN + 10_800, seats_left=0)
    inputs = make_setting(seats=8, taken={"claims": [held], "sessions": {TEN + 7200: full}})
    assert tell(inputs, "2026-03-02 15:00")[0] == (
        "Temporarily held by another visitor, 09:45–11:00 including buffers",
        "Wait for the hold to expire, or shorten the buffers",
    )
    assert tell(inputs, "2026-03-02 17:00")[0][0] == "All 8 seats are taken"


def test_absence_and_holiday_are_told() -> None:
    away = OutOfOffice(at("2026-12-24 14:00"), at("2026-12-28 14:00"), "Skiing")
    schedule = make_schedule(out_of_office=(away,), holidays=HolidayCalendar("US"))
    inputs = make_setting(schedule, booking_window=RollingWindow(365))
    assert tell(inputs, "2026-12-25 14:00") == [
        (
            "Out of office (Skiing), 2026-12-24 09:00 – 2026-12-28 09:00",
            "Shorten or remove the time off",
        ),
        ("Public holiday on 2026-12-25: Christmas Day", "Add an override with hours for 2026-12-25"),
    ]


def test_day_counts_the_starts_that_each_rule_closes() -> None:
    taken = {"busy": [Busy(TEN, TEN + 7200, "Work calendar")], "claims": [Claim(TEN, TEN + 60)]}
    told = explain_day(make_setting(min_notice_minutes=180, taken=taken), date(2026, 3, 2))
    assert (told.starts, told.open) == (8, 5)
    assert [(reason.code, reason.closes) for reason in told.reasons] == [
        (Code.NOTICE, 1),
        (Code.TAKEN, 1),
        (Code.BUSY, 2),
    ]


def test_day_without_starts_tells_its_hours() -> None:
    sunday = explain_day(make_setting(), date(2026, 3, 8))
    assert [reason.sentence for reason in sunday.reasons] == ["Outside hours: Sunday 2026-03-08 has no hours"]
    short = make_setting(make_schedule(weekly_hours=every_day(TimeRange(540, 570))))
    assert explain_day(short, date(2026, 3, 2)).reasons[0].remedy == (
        "Add hours or an override for 2026-03-02 that are at least 1 h long"
    )


def test_day_that_never_was_is_told() -> None:
    samoa = make_setting(make_schedule("Pacific/Apia"))
    assert explain_day(samoa, date(2011, 12, 30)).reasons[0].sentence == "This time does not exist"


def test_explanation_is_never_of_another_opinion_than_the_engine() -> None:
    check_each(draw_cases(150, draw_case), check_explanation)


def check_explanation(case: Case) -> None:
    inputs, zone = as_setting(case), ZoneInfo(case.zone)
    listed = list_slots(inputs, Days(case.first, case.first), viewer=zone).starts
    told = explain_day(inputs, case.first)
    assert told.open == len(listed)
    starts = explain_starts(inputs, case.first)
    assert [each.starts_at for each in starts if each.code is Code.OPEN] == [at_second(each) for each in listed]
    assert all(each.code is judge(inputs, each.starts_at) for each in starts[:3])
    assert len(starts) == told.starts
    assert bool(told.reasons) == (told.open < told.starts or told.starts == 0)
    for start in (case.now, case.now + 5, *(each // 60 for each in listed[:2])):
        starts_at = datetime.fromtimestamp(start * 60, zone)
        explained = explain_start(inputs, starts_at)
        assert explained.code is judge(inputs, starts_at)
        assert bool(explained.reasons) == (explained.code is not Code.OPEN)
