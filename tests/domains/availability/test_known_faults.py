"""Faults that schedulers are known for, each as a rule that holds here."""

from datetime import date, datetime

import pytest
from msgspec.structs import replace

from openslot.domains.availability.models import Days, SlotInputs
from openslot.domains.availability.slots import list_slots
from openslot.domains.event_types.models import Limits, RollingWindow
from openslot.domains.schedules.models import TimeRange
from openslot.platform.core.times import find_zone, get_zone
from tests.domains.availability.cases import at, every_day, make_event_type, make_schedule, of_host, second, show_slots


def starts(inputs: SlotInputs, on: str, viewer: str = "UTC") -> list[str]:
    zone = find_zone(viewer)
    assert zone is not None
    day = date.fromisoformat(on)
    return [slot.time for slot in show_slots(list_slots(inputs, Days(day, day), viewer=zone), viewer=zone)]


def always(zone: str, now: str, duration: int = 60, **event_type: object) -> SlotInputs:
    schedule = make_schedule(zone, every_day(TimeRange(0, 1440)))
    return of_host(make_event_type(duration, **event_type), schedule, now=at(now))


@pytest.mark.parametrize(
    ("now", "on", "first"),
    [
        ("2026-03-07 17:00", "2026-03-08", "13:00"),  # 24 h after noon on a day of 23 hours
        ("2026-10-31 16:00", "2026-11-01", "11:00"),  # 24 h after noon on a day of 25 hours
        ("2026-03-07 07:00", "2026-03-08", "03:00"),  # 24 h after 02:00 is the instant of the change
        ("2026-10-31 06:00", "2026-11-01", "01:00"),  # 24 h after 02:00 is 01:00 for the second time
    ],
)
def test_notice_that_lands_on_a_change_day_is_elapsed_time(now: str, on: str, first: str) -> None:
    inputs = always("America/New_York", now, min_notice_minutes=1440)
    assert starts(inputs, on, "America/New_York")[0] == first


def test_limit_counts_the_hosts_day_whoever_looks() -> None:
    # 20:00 on 2 March in Los Angeles is 3 March in UTC and in Auckland.
    base = always("America/Los_Angeles", "2026-03-01 00:00", duration=240, limits=Limits(per_day=1))
    inputs = replace(base, booked=[second("2026-03-03 04:00")])
    assert starts(inputs, "2026-03-02", "America/Los_Angeles") == []
    assert len(starts(inputs, "2026-03-03", "America/Los_Angeles")) == 6
    for viewer in ("UTC", "Pacific/Auckland", "Asia/Kathmandu"):
        days = Days(date(2026, 3, 1), date(2026, 3, 5))
        shown = list_slots(inputs, days, viewer=get_zone(viewer)).starts
        hosts = [datetime.fromtimestamp(start, get_zone("America/Los_Angeles")).day for start in shown]
        assert 2 not in hosts
        assert {1, 3} <= set(hosts)


def test_limit_of_a_week_begins_on_the_hosts_monday() -> None:
    # 23:00 on Sunday 8 March in New York is Monday in UTC.
    base = always("America/New_York", "2026-03-01 00:00", duration=240, limits=Limits(per_week=1))
    inputs = replace(base, booked=[second("2026-03-09 03:00")])
    assert starts(inputs, "2026-03-08", "America/New_York") == []
    assert len(starts(inputs, "2026-03-09", "America/New_York")) == 6


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati", "UTC"])
def test_day_that_ends_at_24_has_its_last_hour(zone: str) -> None:
    schedule = make_schedule(zone, every_day(TimeRange(1320, 1440)))
    inputs = of_host(make_event_type(60), schedule, now=at("2026-05-01 00:00"))
    assert starts(inputs, "2026-05-04", zone) == ["22:00", "23:00"]


@pytest.mark.parametrize(
    ("zone", "on", "last", "count"),
    [
        ("Africa/Cairo", "2026-04-23", "23:00", 24),  # the next midnight does not exist
        ("Africa/Cairo", "2026-04-24", "23:00", 23),
        ("Africa/Cairo", "2026-10-29", "23:00", 25),  # 23:00 comes twice, then midnight
        ("America/Santiago", "2026-04-04", "23:00", 25),
        ("America/Santiago", "2026-09-06", "23:00", 23),
    ],
)
def test_day_that_ends_at_24_is_whole_when_midnight_moves(zone: str, on: str, last: str, count: int) -> None:
    shown = starts(always(zone, "2026-04-01 00:00", booking_window=RollingWindow(300)), on, zone)
    assert (shown[-1], len(shown)) == (last, count)


@pytest.mark.parametrize(
    ("viewer", "first", "last"),
    [
        ("Asia/Kathmandu", "2026-05-04 18:45", "2026-05-05 02:15"),
        ("Pacific/Chatham", "2026-05-05 01:45", "2026-05-05 09:15"),
        ("Australia/Eucla", "2026-05-04 21:45", "2026-05-05 05:15"),
    ],
)
def test_viewer_with_an_offset_of_45_minutes_sees_true_times(viewer: str, first: str, last: str) -> None:
    inputs = of_host(make_event_type(30), make_schedule(), now=at("2026-05-03 00:00"))
    zone = get_zone(viewer)
    days = Days(date(2026, 5, 3), date(2026, 5, 6))
    shown = show_slots(list_slots(inputs, days, viewer=zone), viewer=zone)
    monday = [slot for slot in shown if slot.start_time.startswith("2026-05-04")]
    assert [f"{slot.date} {slot.time}" for slot in (monday[0], monday[-1])] == [first, last]
    assert monday[0].start_time == "2026-05-04T13:00:00Z"


@pytest.mark.parametrize("name", ["america/new_york", "AMERICA/NEW_YORK", "America/new_york"])
def test_zone_names_count_in_any_letter_case(name: str) -> None:
    inputs = always("America/New_York", "2026-03-01 00:00")
    assert starts(inputs, "2026-03-04", name) == starts(inputs, "2026-03-04", "America/New_York")
    shouted = always(name, "2026-03-01 00:00")
    assert starts(shouted, "2026-03-04") == starts(inputs, "2026-03-04")


def test_working_day_keeps_its_wall_times_through_a_change() -> None:
    inputs = of_host(make_event_type(480), make_schedule(), now=at("2026-03-01 00:00"))
    assert starts(inputs, "2026-03-06", "UTC") == ["14:00"]
    assert starts(inputs, "2026-03-09", "UTC") == ["13:00"]


def test_hour_that_comes_twice_is_offered_twice_at_two_instants() -> None:
    zone = get_zone("Europe/Berlin")
    inputs = always("Europe/Berlin", "2026-10-24 00:00")
    day = Days(date(2026, 10, 25), date(2026, 10, 25))
    shown = show_slots(list_slots(inputs, day, viewer=zone), viewer=zone)
    assert [slot.start_time for slot in shown if slot.time == "02:00"] == [
        "2026-10-25T00:00:00Z",
        "2026-10-25T01:00:00Z",
    ]
