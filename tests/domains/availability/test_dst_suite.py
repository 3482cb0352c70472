"""The engine against the DST suite: every change of the clocks from 2026 to 2030, two days around it.

Of zones whose clocks change alike one is asked about, and with OPENSLOT_LONG each of them.
"""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from openslot.domains.availability.free_hosts import make_query
from openslot.domains.availability.models import Days, SlotInputs
from openslot.domains.availability.slots import list_slots
from openslot.domains.event_types.models import RollingWindow
from openslot.domains.schedules.models import DateOverride, TimeRange
from openslot.platform.core.times import get_offsets, get_zone
from tests.domains.availability.cases import CLOSED_WEEK, at, make_event_type, make_schedule, of_host, show_slots
from tests.domains.availability.dst_cases import DstCase, list_cases, list_zones
from tests.domains.availability.transitions import BEGIN, END, Change, changes_by_zone, path_of, read_changes
from tests.support.parts import LONG

Changes = dict[str, list[Change]]


@pytest.fixture(scope="module")
def changes_of() -> Changes:
    """The changes of every zone, asked for by the process that runs the tests and not by each that collects them."""
    return changes_by_zone(list_zones())


def choose_zones(changes_of: Changes) -> list[str]:
    changing = [zone for zone, changes in changes_of.items() if changes]
    alike = {tuple(changes_of[zone]): zone for zone in reversed(changing)}
    return changing if LONG else sorted(alike.values())


def read_range(start: str, end: str) -> TimeRange:
    """Read a range of two clock times; an end at or before the start is on the next day."""
    first, last = (int(clock[:2]) * 60 + int(clock[3:]) for clock in (start, end))
    return TimeRange(first, last if last > first else last + 1440)


def make_setting(case: DstCase) -> SlotInputs:
    overrides = []
    for each in case["schedule"]["dateOverrides"]:
        hours = tuple(read_range(span["start"], span["end"]) for span in each["hours"])
        overrides.append(DateOverride(date.fromisoformat(each["date"]), hours))
    event_type = make_event_type(
        case["eventType"]["durationMinutes"],
        slot_interval_minutes=case["eventType"]["slotIntervalMinutes"],
        booking_window=RollingWindow(3000),
    )
    schedule = make_schedule(case["schedule"]["timezone"], CLOSED_WEEK, overrides=tuple(overrides))
    return of_host(event_type, schedule, now=at("2025-12-01 00:00"))


def check_case(case: DstCase) -> None:
    inputs, zone = make_setting(case), ZoneInfo(case["ask"]["timezone"])
    days = Days(date.fromisoformat(case["ask"]["startDate"]), date.fromisoformat(case["ask"]["endDate"]))
    slots = list_slots(inputs, days, viewer=zone)
    shown = [(slot.date, slot.time, slot.start_time, slot.end_time) for slot in show_slots(slots, viewer=zone)]
    expected = [(slot["date"], slot["time"], slot["startTime"], slot["endTime"]) for slot in case["slots"]]
    assert shown == expected, (zone, case["change"], case["name"])
    hours = make_query(inputs, asked=(slots.starts[0], slots.starts[-1])).hours
    assert sum(end - start for start, end in hours.ranges) == case["workedSeconds"]


def at_wall(wall: int) -> str:
    return f"{datetime.fromtimestamp(wall, UTC):%Y-%m-%d %H:%M}"


def walls_in_gap(case: DstCase, change: Change) -> list[str]:
    """List the slots whose wall time the clocks never show."""
    gap = range(change.at + change.before, change.at + change.after)
    missing = {at_wall(wall) for wall in gap[::60]}
    return [slot["startTime"] for slot in case["slots"] if f"{slot['date']} {slot['time']}" in missing]


@pytest.mark.rest("tries every character or thousands of inputs")
def test_suite_knows_the_changes_of_five_years(changes_of: Changes) -> None:
    assert len(list_zones()) > 590
    assert sum(map(len, changes_of.values())) > 1900
    assert len(choose_zones(changes_of)) > 25


def test_slots_around_every_change_are_those_of_the_wall_clock(changes_of: Changes) -> None:
    for zone in choose_zones(changes_of):
        for change in changes_of[zone]:
            for case in list_cases(zone, change):
                assert not walls_in_gap(case, change), (zone, change, case["name"])
                check_case(case)
                if case["name"] == "around the clock":
                    assert case["workedSeconds"] == 5 * 86_400 - (change.after - change.before), (zone, change)


@pytest.mark.rest("tries every character or thousands of inputs")
def test_offsets_of_every_zone_are_those_of_zdump(changes_of: Changes) -> None:
    for zone, changes in changes_of.items():
        offsets = get_offsets(get_zone(zone), date(2027, 1, 1), date(2029, 12, 31))
        runs = list(zip(offsets.starts, offsets.seconds, strict=True))
        told = [(change.at, change.after) for change in changes]
        assert [run for run in runs[1:] if BEGIN <= run[0] < END] == told, zone
        assert not changes or runs[0][1] == changes[0].before, zone


def test_file_of_a_zone_says_what_zdump_says(changes_of: Changes) -> None:
    zone = "America/New_York"
    assert read_changes(path_of(zone).read_bytes()) in ([], changes_of[zone])
