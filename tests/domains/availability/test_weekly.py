"""A time that is repeated weekly: at every change of every zone's clocks it is what the zone's own file says."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from zoneinfo import ZoneInfo, available_timezones

import pytest

from openslot.domains.availability.slots import repeat_weekly
from tests.domains.availability.transitions import BEGIN, END, Change, changes_by_zone

WEEKS, WEEK, MINUTE = 4, 7 * 86_400, 60
# A start so far from a change of the clock, in the weeks before and after it.
APART = [minutes * MINUTE for minutes in (-120, -61, -60, -30, -1, 0, 1, 30, 59, 60, 90)]


def repeat(start: int, changes: tuple[Change, ...]) -> list[int]:
    """Say when the clock shows the same time in the next weeks: the first of two; what is skipped is as much later."""
    wall = start + offset_of(start, changes)
    return [start, *(show(wall + week * WEEK, changes) for week in range(1, WEEKS))]


def show(wall: int, changes: tuple[Change, ...]) -> int:
    around = {offset_of(wall - 86_400, changes), offset_of(wall + 86_400, changes)}
    shown = [wall - offset for offset in around if offset_of(wall - offset, changes) == offset]
    return min(shown) if shown else wall - offset_of(wall - 86_400, changes)


def offset_of(instant: int, changes: tuple[Change, ...]) -> int:
    place = bisect_right([each.at for each in changes], instant)
    return changes[place - 1].after if place else changes[0].before


@pytest.mark.rest("tries every character or thousands of inputs")
def test_every_change_of_every_clock_is_survived() -> None:
    by_zone = changes_by_zone(tuple(sorted(available_timezones())))
    # Many zones have the same clock, which is checked once.
    clocks = {tuple(changes): zone for zone, changes in by_zone.items() if len(changes) > 1}
    checked = 0
    for changes, zone in clocks.items():
        assert all(later.at - each.at > 3 * 86_400 for each, later in pairwise(changes)), "the oracle can't tell"
        for change, weeks_before, apart in product(changes, range(WEEKS), APART):
            start = change.at + apart - weeks_before * WEEK
            if BEGIN + WEEK < start < END - WEEKS * WEEK:
                found = repeat_weekly(datetime.fromtimestamp(start, UTC), ZoneInfo(zone), WEEKS)
                assert [int(each.timestamp()) for each in found] == repeat(start, changes), (zone, change, start)
                checked += 1
    assert checked > 5_000, checked


def test_a_year_of_weeks_keeps_the_clock_and_the_weekday() -> None:
    start = datetime(2026, 1, 5, 9, 30, tzinfo=ZoneInfo("America/New_York"))
    found = repeat_weekly(start.astimezone(UTC), ZoneInfo("America/New_York"), 52)
    local = [each.astimezone(ZoneInfo("America/New_York")) for each in found]
    assert {(each.weekday(), each.hour, each.minute) for each in local} == {(0, 9, 30)}
    assert len({each.date() for each in local}) == 52
    assert {later - each for each, later in pairwise(found)} == {
        timedelta(days=7),
        timedelta(days=7, hours=-1),
        timedelta(days=7, hours=1),
    }


def test_a_skipped_time_is_as_much_later_and_the_week_after_is_itself() -> None:
    # On 29 March, Berlin's clock goes from 02:00 to 03:00.
    start = datetime(2026, 3, 22, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)
    local = [each.astimezone(ZoneInfo("Europe/Berlin")) for each in repeat_weekly(start, ZoneInfo("Europe/Berlin"), 3)]
    assert [f"{each:%d %H:%M}" for each in local] == ["22 02:30", "29 03:30", "05 02:30"]
