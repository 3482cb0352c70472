"""Zone names in any letter case, and wall times as instants."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo, available_timezones

import pytest

from openslot.platform.core.times import (
    DAY,
    ceil_second,
    date_of,
    day_number,
    find_zone,
    floor_second,
    get_offsets,
    get_zone,
    instant_of,
    local_day,
    spans_of_days,
)


def instant(zone: str, on: date, minute: int) -> str:
    offsets = get_offsets(get_zone(zone), on, on)
    second = instant_of(offsets, day_number(on) * DAY + minute * 60)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("AMERICA/NEW_YORK", "America/New_York"),
        ("utc", "UTC"),
        ("est", "EST"),
        ("us/eastern", "US/Eastern"),
        ("gmt+0", "GMT+0"),
        ("etc/gmt-14", "Etc/GMT-14"),
    ],
)
def test_zone_is_found_in_any_letter_case(asked: str, meant: str) -> None:
    zone = find_zone(asked)
    assert zone is not None
    assert zone.key == meant


def test_every_zone_of_this_machine_is_found_in_lower_and_upper_case() -> None:
    for name in available_timezones() - {"localtime", "Factory"}:
        assert find_zone(name.lower()) == find_zone(name.upper()) == ZoneInfo(name)


@pytest.mark.parametrize(
    "name",
    ["", " ", "localtime", "LocalTime", "posixrules", "Factory", "posix/UTC", "right/UTC", "+02:00", "UTC+2", "GMT+2",
     "Europe/Berlin ", "../etc/passwd", "/etc/localtime", "/usr/share/zoneinfo/UTC", "Europe", "Europe/", "zone.tab",
     "tzdata.zi", "Europe/Berlin\0", "Mars/Olympus", "Asia/To\u212ayo", "x" * 100_000],
)  # fmt: skip
def test_what_is_no_name_of_a_zone_is_not_found(name: str) -> None:
    assert find_zone(name) is None


def test_a_checked_name_that_is_gone_is_told() -> None:
    with pytest.raises(LookupError, match="Mars/Olympus"):
        get_zone("Mars/Olympus")


@pytest.mark.parametrize(
    ("zone", "on", "minute", "meant"),
    [
        ("America/New_York", date(2026, 3, 8), 119, "2026-03-08 06:59:00"),
        ("America/New_York", date(2026, 3, 8), 150, "2026-03-08 07:00:00"),  # in the gap: the first instant after it
        ("America/New_York", date(2026, 3, 8), 180, "2026-03-08 07:00:00"),
        ("America/New_York", date(2026, 11, 1), 90, "2026-11-01 05:30:00"),  # in the fold: the first of the two
        ("America/New_York", date(2026, 11, 1), 120, "2026-11-01 07:00:00"),
        ("Africa/Cairo", date(2026, 4, 24), 0, "2026-04-23 22:00:00"),  # midnight itself is in the gap
        ("Australia/Lord_Howe", date(2026, 10, 4), 135, "2026-10-03 15:30:00"),  # a gap of half an hour
        ("Antarctica/Troll", date(2026, 3, 29), 150, "2026-03-29 01:00:00"),  # a gap of two hours
        ("Pacific/Apia", date(2011, 12, 30), 720, "2011-12-30 10:00:00"),  # a day that was skipped
        ("Africa/Monrovia", date(1971, 6, 1), 0, "1971-06-01 00:44:30"),  # an offset with seconds
    ],
)
def test_wall_time_becomes_its_instant(zone: str, on: date, minute: int, meant: str) -> None:
    assert instant(zone, on, minute) == meant


def test_skipped_day_has_no_span() -> None:
    offsets = get_offsets(get_zone("Pacific/Apia"), date(2011, 12, 30), date(2011, 12, 30))
    skipped = day_number(date(2011, 12, 30))
    assert spans_of_days(offsets, skipped, skipped) == []


def test_day_that_is_shown_twice_has_two_spans() -> None:
    # Until November 2011 the clocks of Newfoundland went from 00:01 back to 23:01 of the day before.
    on = day_number(date(2010, 11, 7))
    offsets = get_offsets(get_zone("America/St_Johns"), date(2010, 11, 7), date(2010, 11, 7))
    (first, left), (again, last) = spans_of_days(offsets, on, on)
    assert (left - first, again - left) == (60, 3540)
    assert last - again == DAY


def test_offsets_agree_with_the_library_on_any_day() -> None:
    zone = get_zone("Africa/Casablanca")
    for day in range(day_number(date(2020, 1, 1)), day_number(date(2040, 1, 1)), 5):
        local = datetime.fromtimestamp(day * DAY + 5, zone)
        assert date_of(local_day(zone, day * DAY + 5)) == local.date()


def test_begun_seconds_are_rounded_either_way() -> None:
    begun = datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert ceil_second(begun) == floor_second(begun) + 1
    assert ceil_second(begun.replace(microsecond=0)) == floor_second(begun)
