"""Rules of the engine, one at a time."""

from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from openslot.domains.availability.models import Busy, Claim, Code, Days, SlotInputs
from openslot.domains.availability.slots import judge, list_slots
from openslot.domains.event_types.models import BusinessDaysWindow, EventType, Limits, RangeWindow, RollingWindow
from openslot.domains.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, TimeRange
from openslot.platform.core.times import get_zone
from tests.domains.availability.cases import (
    CLOSED_WEEK,
    WORKING_WEEK,
    at,
    every_day,
    make_event_type,
    make_schedule,
    make_session,
    of_host,
    second,
)

MONDAY = date(2026, 3, 2)  # New York is five hours behind UTC
NOW = at("2026-03-01 12:00")


def inputs(event_type: EventType | None = None, schedule: Schedule | None = None, **more: object) -> SlotInputs:
    now = more.pop("now", NOW)
    assert isinstance(now, datetime)
    return of_host(event_type or make_event_type(60), schedule or make_schedule(), now=now, **more)  # type: ignore[arg-type]


def local_starts(case: SlotInputs, on: date = MONDAY, days: int = 1, viewer: str = "America/New_York") -> list[str]:
    """List the open starts as the viewer's clock shows them."""
    slots = list_slots(case, Days(on, on + timedelta(days=days - 1)), viewer=get_zone(viewer))
    shown = [datetime.fromtimestamp(start, get_zone(viewer)) for start in slots.starts]
    return [f"{each:%H:%M}" for each in shown]


def test_starts_are_counted_from_the_start_of_the_hours() -> None:
    case = inputs(schedule=make_schedule(weekly_hours=every_day(TimeRange(550, 730))))
    assert local_starts(case) == ["09:10", "10:10", "11:10"]


def test_interval_is_the_duration_unless_given() -> None:
    morning = make_schedule(weekly_hours=every_day(TimeRange(540, 660)))
    assert local_starts(inputs(make_event_type(40), morning)) == ["09:00", "09:40", "10:20"]
    every_half_hour = make_event_type(40, slot_interval_minutes=30)
    assert local_starts(inputs(every_half_hour, morning)) == ["09:00", "09:30", "10:00"]


def test_meeting_must_end_within_the_hours_but_buffers_need_not() -> None:
    buffered = make_event_type(60, buffer_before=480, buffer_after=480)
    case = inputs(buffered, make_schedule(weekly_hours=every_day(TimeRange(540, 600))))
    assert local_starts(case) == ["09:00"]


def test_ranges_that_touch_or_overlap_are_one() -> None:
    touching = every_day(TimeRange(540, 570), TimeRange(570, 660), TimeRange(640, 690))
    assert local_starts(inputs(schedule=make_schedule(weekly_hours=touching))) == ["09:00", "10:00"]


def test_hours_over_midnight_belong_to_the_day_they_start() -> None:
    only_monday = make_schedule(weekly_hours=((TimeRange(1320, 1560),), *CLOSED_WEEK[1:]))
    assert local_starts(inputs(schedule=only_monday)) == ["22:00", "23:00"]
    assert local_starts(inputs(schedule=only_monday), MONDAY + timedelta(days=1)) == ["00:00", "01:00"]
    closed_tuesday = replace(only_monday, overrides=(DateOverride(MONDAY + timedelta(days=1)),))
    assert local_starts(inputs(schedule=closed_tuesday), MONDAY, 2) == ["22:00", "23:00", "00:00", "01:00"]
    closed_monday = replace(only_monday, overrides=(DateOverride(MONDAY),))
    assert local_starts(inputs(schedule=closed_monday), MONDAY, 2) == []


def test_meeting_may_cross_midnight_where_hours_touch() -> None:
    late_and_early = every_day(TimeRange(0, 90), TimeRange(1350, 1440))
    assert local_starts(inputs(schedule=make_schedule(weekly_hours=late_and_early)), MONDAY) == [
        "00:30", "22:30", "23:30",
    ]  # fmt: skip


def test_starts_of_a_day_do_not_depend_on_the_days_asked() -> None:
    # 50 minutes do not divide a day, so that the count must have one beginning.
    always = make_schedule(weekly_hours=every_day(TimeRange(0, 1440)))
    case = inputs(make_event_type(50), always)
    week = list_slots(case, Days(date(2026, 3, 2), date(2026, 3, 15)), viewer=get_zone("UTC")).starts
    days = [date(2026, 3, 2) + timedelta(days=n) for n in range(14)]
    alone = [start for on in days for start in list_slots(case, Days(on, on), viewer=get_zone("UTC")).starts]
    assert week == alone


def test_hours_without_end_count_anew_from_each_monday() -> None:
    always = make_schedule(weekly_hours=every_day(TimeRange(0, 1440)))
    case = inputs(make_event_type(50), always)
    assert local_starts(case, MONDAY)[:2] == ["00:00", "00:50"]
    assert local_starts(case, MONDAY + timedelta(days=1))[:2] == ["00:10", "01:00"]
    broken = inputs(make_event_type(50), replace(always, overrides=(DateOverride(date(2026, 4, 8)),)))
    assert local_starts(broken, date(2026, 4, 9))[0] == "00:00"
    assert local_starts(broken, date(2026, 4, 13))[0] == "00:40"
    assert local_starts(broken, date(2026, 4, 20))[0] == "00:00"


def test_override_replaces_the_hours_of_its_date() -> None:
    schedule = make_schedule(overrides=(DateOverride(MONDAY, (TimeRange(840, 960),)), DateOverride(date(2026, 3, 3))))
    assert local_starts(inputs(schedule=schedule), MONDAY, 2) == ["14:00", "15:00"]


def test_time_out_of_office_closes_what_touches_it() -> None:
    away = OutOfOffice(at("2026-03-02 15:30"), at("2026-03-02 20:00"))  # 10:30 to 15:00 in New York
    case = inputs(make_event_type(60, buffer_before=60), make_schedule(out_of_office=(away,)))
    assert local_starts(case) == ["09:00", "15:00", "16:00"]
    assert judge(case, at("2026-03-02 15:00")) is Code.OUT_OF_OFFICE


def test_holiday_closes_its_day_unless_an_override_opens_it() -> None:
    schedule = make_schedule(holidays=HolidayCalendar("US"))
    christmas = date(2026, 12, 25)
    case = inputs(make_event_type(240, booking_window=RollingWindow(365)), schedule)
    assert local_starts(case, christmas) == []
    assert judge(case, at("2026-12-25 14:00")) is Code.HOLIDAY
    opened = replace(schedule, overrides=(DateOverride(christmas, (TimeRange(600, 840),)),))
    assert local_starts(inputs(case.event_type, opened), christmas) == ["10:00"]


def test_holiday_leaves_the_hours_that_reach_into_it() -> None:
    nights = make_schedule(weekly_hours=every_day(TimeRange(1320, 1560)), holidays=HolidayCalendar("US"))
    case = inputs(make_event_type(60, booking_window=RollingWindow(365)), nights)
    assert local_starts(case, date(2026, 12, 24), 3) == [
        "00:00", "01:00", "22:00", "23:00", "00:00", "01:00", "22:00", "23:00",
    ]  # fmt: skip


def test_buffers_keep_their_distance_from_claims_and_busy_spans() -> None:
    event_type = make_event_type(60, buffer_before=15, buffer_after=30, slot_interval_minutes=15)
    taken = [Claim(second("2026-03-02 16:00"), second("2026-03-02 17:00"))]  # 11:00 to 12:00
    expected = ["09:00", "09:15", "09:30", "12:15", "12:30"]
    hours = make_schedule(weekly_hours=every_day(TimeRange(540, 810)))
    assert local_starts(inputs(event_type, hours, claims=taken)) == expected
    busy = [Busy(claim.start, claim.end) for claim in taken]
    assert local_starts(inputs(event_type, hours, busy=busy)) == expected


def test_a_busy_second_closes_and_a_busy_nothing_does_not() -> None:
    start = second("2026-03-02 14:00")
    assert "09:00" not in local_starts(inputs(busy=[Busy(start + 3599, start + 3600)]))
    assert "09:00" in local_starts(inputs(busy=[Busy(start + 3600, start + 3601)]))
    assert "09:00" in local_starts(inputs(busy=[Busy(start + 60, start + 60)]))


def test_claims_need_not_be_in_order() -> None:
    nine, three = second("2026-03-02 14:00"), second("2026-03-02 20:00")
    taken = [Claim(three, three + 3600), Claim(nine, nine + 3600), Claim(nine, nine + 60)]
    assert local_starts(inputs(claims=taken)) == ["10:00", "11:00", "12:00", "13:00", "14:00", "16:00"]


def test_session_with_a_free_seat_can_be_joined_and_a_full_one_not() -> None:
    ten = second("2026-03-02 15:00")
    free = make_session(ten - 900, ten + 4500, end=ten + 3600, seats_left=1)
    case = inputs(make_event_type(60, seats=8), sessions={ten: free})
    assert local_starts(case)[:3] == ["10:00", "12:00", "13:00"]
    full = inputs(make_event_type(60, seats=8), sessions={ten: replace(free, seats_left=0)})
    assert local_starts(full)[:2] == ["12:00", "13:00"]
    assert judge(full, at("2026-03-02 15:00")) is Code.FULL
    assert judge(full, at("2026-03-02 14:00")) is Code.TAKEN


def test_sessions_with_free_seats_stay_open_side_by_side() -> None:
    nine = second("2026-03-02 14:00")
    sessions = {
        start: make_session(start, start + 3600, end=start + 3600, seats_left=seats)
        for start, seats in ((nine, 1), (nine + 3600, 0))
    }
    # Buffers that grew since do not close what takes no new time.
    later = Claim(nine + 7200, nine + 28_800)
    case = inputs(make_event_type(60, seats=8, buffer_after=30), sessions=sessions, claims=[later])
    assert local_starts(case) == ["09:00"]


def test_session_under_a_busy_span_is_closed() -> None:
    ten = second("2026-03-02 15:00")
    session = make_session(ten, ten + 3600, end=ten + 3600, seats_left=1)
    case = inputs(sessions={ten: session}, busy=[Busy(ten, ten + 60)])
    assert judge(case, at("2026-03-02 15:00")) is Code.BUSY


@pytest.mark.parametrize(("now", "first"), [("13:00:00", "10:00"), ("12:59:59", "10:00"), ("13:00:01", "11:00")])
def test_notice_is_kept_to_the_second(now: str, first: str) -> None:
    case = inputs(make_event_type(60, min_notice_minutes=120), now=at(f"2026-03-02 {now}"))
    assert local_starts(case)[0] == first


def test_part_of_a_second_is_a_second_late() -> None:
    now = at("2026-03-02 14:00") + timedelta(microseconds=1)
    assert local_starts(inputs(now=now))[0] == "10:00"
    assert judge(inputs(now=now), at("2026-03-02 14:00")) is Code.PAST
    assert judge(inputs(now=at("2026-03-02 14:00")), at("2026-03-02 14:00")) is Code.OPEN


@pytest.mark.parametrize(
    ("window", "now", "last"),
    [
        (RollingWindow(0), "2026-03-02 05:00", "2026-03-02"),
        (RollingWindow(1), "2026-03-02 05:00", "2026-03-03"),
        (RollingWindow(1), "2026-03-03 04:59", "2026-03-03"),  # still Monday in New York
        (BusinessDaysWindow(0), "2026-03-06 12:00", "2026-03-06"),
        (BusinessDaysWindow(1), "2026-03-06 12:00", "2026-03-09"),
        (BusinessDaysWindow(1), "2026-03-07 12:00", "2026-03-09"),
        (BusinessDaysWindow(5), "2026-03-02 12:00", "2026-03-09"),
        (RangeWindow(date(2026, 3, 4), date(2026, 3, 5)), "2026-03-02 12:00", "2026-03-05"),
    ],
)
def test_window_ends_on_a_day_of_the_host(window: object, now: str, last: str) -> None:
    always = make_schedule(weekly_hours=every_day(TimeRange(0, 1440)))
    case = inputs(make_event_type(60, booking_window=window), always, now=at(now))
    slots = list_slots(case, Days(date(2026, 2, 25), date(2026, 3, 20)), viewer=get_zone("UTC"))
    end = datetime.fromtimestamp(slots.starts[-1], get_zone("America/New_York"))
    assert f"{end:%Y-%m-%d %H:%M}" == f"{last} 23:00"


def test_holidays_are_no_business_days() -> None:
    schedule = make_schedule(weekly_hours=WORKING_WEEK, holidays=HolidayCalendar("US"))
    case = inputs(make_event_type(480, booking_window=BusinessDaysWindow(2)), schedule, now=at("2026-12-23 23:00"))
    slots = list_slots(case, Days(date(2026, 12, 23), date(2026, 12, 31)), viewer=get_zone("America/New_York"))
    assert [datetime.fromtimestamp(start, UTC).day for start in slots.starts] == [24, 28]


def test_range_window_is_closed_before_its_first_day() -> None:
    case = inputs(make_event_type(480, booking_window=RangeWindow(date(2026, 3, 4), date(2026, 3, 5))))
    assert local_starts(case, MONDAY, 5) == ["09:00", "09:00"]
    assert judge(case, at("2026-03-03 14:00")) is Code.WINDOW


def test_day_and_week_are_full_at_their_limits() -> None:
    nine = second("2026-03-02 14:00")
    booked = [nine, nine + 3600, nine + 2 * 86_400]
    day_limit = inputs(make_event_type(480, limits=Limits(per_day=2)), booked=booked)
    assert local_starts(day_limit, MONDAY, 5) == ["09:00"] * 4
    assert judge(day_limit, at("2026-03-02 14:00")) is Code.DAY_LIMIT
    week_limit = inputs(make_event_type(480, limits=Limits(per_week=3)), booked=booked)
    assert local_starts(week_limit, MONDAY, 7) == []
    assert local_starts(week_limit, MONDAY, 8) == ["09:00"]
    assert judge(week_limit, at("2026-03-06 14:00")) is Code.WEEK_LIMIT
    assert local_starts(inputs(make_event_type(480, limits=Limits(3, 4)), booked=booked), MONDAY, 5) == ["09:00"] * 5


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ("2026-03-02 14:00:00", Code.OPEN),
        ("2026-03-02 14:15:00", Code.OFF_GRID),
        ("2026-03-02 14:00:01", Code.OFF_GRID),
        ("2026-03-02 14:00:00.000001", Code.OFF_GRID),
        ("2026-03-02 13:00:00", Code.OUTSIDE_HOURS),
        ("2026-03-02 22:00:00", Code.OUTSIDE_HOURS),
        ("2026-03-02 21:30:00", Code.OUTSIDE_HOURS),
        ("2026-03-07 14:00:00", Code.OUTSIDE_HOURS),
        ("2026-02-27 14:00:00", Code.PAST),
        ("2026-06-01 13:00:00", Code.WINDOW),
        ("9999-12-31 23:00:00", Code.OFF_GRID),
        ("0001-01-01 00:00:00", Code.OFF_GRID),
    ],
)
def test_verdict_tells_a_start_that_never_was_from_one_that_is_closed(start: str, code: Code) -> None:
    assert judge(inputs(), at(start)) is code


def test_closing_override_leaves_no_start_to_ask_for() -> None:
    case = inputs(schedule=make_schedule(overrides=(DateOverride(MONDAY),)))
    assert judge(case, at("2026-03-02 14:00")) is Code.OUTSIDE_HOURS


def test_the_first_reason_counts() -> None:
    nine = second("2026-03-02 14:00")
    case = inputs(claims=[Claim(nine, nine + 60)], busy=[Busy(nine, nine + 60)])
    assert judge(case, at("2026-03-02 14:00")) is Code.TAKEN


def test_skipped_date_has_no_slots() -> None:
    samoa = make_schedule("Pacific/Apia", every_day(TimeRange(0, 1440)))
    case = inputs(schedule=samoa, now=at("2011-12-28 00:00"))
    assert local_starts(case, date(2011, 12, 30), viewer="Pacific/Apia") == []
    assert len(local_starts(case, date(2011, 12, 29), 3, viewer="Pacific/Apia")) == 48


def test_date_that_is_shown_twice_is_whole() -> None:
    always = make_schedule("UTC", every_day(TimeRange(0, 1440)))
    case = inputs(make_event_type(1), always, now=at("2010-11-01 00:00"))
    assert len(local_starts(case, date(2010, 11, 7), viewer="America/St_Johns")) == 1440 + 1
    assert len(local_starts(case, date(2010, 11, 6), viewer="America/St_Johns")) == 1440 + 59


def test_dates_far_off_are_answered_with_nothing() -> None:
    for on in (date.min, date(1969, 12, 30), date(2200, 12, 31), date.max - timedelta(days=1)):
        assert local_starts(inputs(), on) == []
