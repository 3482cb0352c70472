"""The DST suite: three questions around each change of the clocks, with answers worked out from zdump alone."""

import sys
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import TypedDict
from zoneinfo import available_timezones

import msgspec

from tests.domains.availability.transitions import Change, changes_by_zone

DAY, HOUR, STEP = 86_400, 3_600, 1_800


class Hours(TypedDict):
    """A range of a day, by the wall clock."""

    start: str
    end: str


class Override(TypedDict):
    """The hours of one date."""

    date: str
    hours: list[Hours]


class Told(TypedDict):
    """The change of the clocks, with offsets in seconds ahead of UTC."""

    at: str
    offsetBefore: int
    offsetAfter: int


class Schedule(TypedDict):
    """Hours in a zone."""

    timezone: str
    dateOverrides: list[Override]


class Meeting(TypedDict):
    """How long a meeting is, and how far apart starts are."""

    durationMinutes: int
    slotIntervalMinutes: int


class Asked(TypedDict):
    """The dates that are asked for, both included."""

    timezone: str
    startDate: str
    endDate: str


class Slot(TypedDict):
    """A start that must be listed."""

    date: str
    time: str
    startTime: str
    endTime: str


class DstCase(TypedDict):
    """One question and its answer; weekly hours are empty, so that only the overrides open anything."""

    name: str
    change: Told
    schedule: Schedule
    eventType: Meeting
    ask: Asked
    workedSeconds: int
    slots: list[Slot]


def list_zones() -> tuple[str, ...]:
    """Name all zones that mean the same on every machine."""
    return tuple(sorted(available_timezones() - {"localtime", "Factory"}))


def list_cases(zone: str, change: Change) -> Iterator[DstCase]:
    """Ask for office hours, for the clock round, and for hours that begin inside the gap or the fold."""
    middle = (change.at + change.before) // DAY * DAY
    days = [middle + shift * DAY for shift in (-2, -1, 0, 1, 2)]
    yield _case("office hours", zone, change, [(day + 9 * HOUR, day + 17 * HOUR) for day in days])
    yield _case("around the clock", zone, change, [(day, day + DAY) for day in days])
    inside = change.at + min(change.before, change.after) + 900
    yield _case("hours that begin inside the change", zone, change, [(inside, inside + 3 * HOUR)])


def _case(name: str, zone: str, change: Change, walls: list[tuple[int, int]]) -> DstCase:
    spans = [(_instant(change, start), _instant(change, end)) for start, end in walls]
    joined = [spans[0]]
    for start, end in spans[1:]:
        if start == joined[-1][1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    starts = [at for start, end in joined for at in range(start, end - STEP + 1, STEP)]
    first, last = walls[0][0] // DAY, walls[-1][1] // DAY
    return DstCase(
        name=name,
        change=Told(at=_utc(change.at), offsetBefore=change.before, offsetAfter=change.after),
        schedule=Schedule(timezone=zone, dateOverrides=[_override(start, end) for start, end in walls]),
        eventType=Meeting(durationMinutes=STEP // 60, slotIntervalMinutes=STEP // 60),
        ask=Asked(timezone=zone, startDate=_date(first * DAY), endDate=_date(last * DAY)),
        workedSeconds=sum(end - start for start, end in spans),
        slots=[_slot(change, at) for at in starts],
    )


def _instant(change: Change, wall: int) -> int:
    """Before the change by the old offset, after it by the new one, and in a gap at the change itself."""
    if wall < change.at + change.before:
        return wall - change.before
    return max(wall - change.after, change.at)


def _slot(change: Change, at: int) -> Slot:
    wall = at + (change.before if at < change.at else change.after)
    return Slot(date=_date(wall), time=_clock(wall % DAY), startTime=_utc(at), endTime=_utc(at + STEP))


def _override(start: int, end: int) -> Override:
    closes = end - start // DAY * DAY
    text = "24:00" if closes == DAY else _clock(closes % DAY)
    return Override(date=_date(start), hours=[Hours(start=_clock(start % DAY), end=text)])


def _clock(second: int) -> str:
    return f"{second // HOUR:02d}:{second // 60 % 60:02d}"


def _date(wall: int) -> str:
    return _name_day(wall // DAY)


@cache
def _name_day(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()


def _utc(at: int) -> str:
    return f"{_date(at)}T{_clock(at % DAY)}:{at % 60:02d}Z"


def main() -> None:
    """Write every case as a line of JSON."""
    for zone, changes in changes_by_zone(list_zones()).items():
        for change in changes:
            for case in list_cases(zone, change):
                sys.stdout.buffer.write(msgspec.json.encode(case) + b"\n")


if __name__ == "__main__":
    main()
