"""What is kept of events that repeat: as much as is needed to read them again, and never far more than was sent."""

import pytest

from openslot.domains.calendars.errors import CalendarUnreadable
from openslot.domains.calendars.ports import KeptSeries
from openslot.domains.calendars.prefilter import LONGEST_ZONE
from openslot.domains.calendars.recurrence import Budget
from openslot.vendors.caldav import objects as ical_objects
from openslot.vendors.caldav.objects import ICalObject, expand_series, read_objects
from tests.support.ical import BERLIN, calendar, event, instants, scope

ASKED = scope("2026-03-01", "2026-04-30", BERLIN)
WEEKLY = ["DURATION:PT1H", "RRULE:FREQ=WEEKLY;COUNT=3"]
LONG = (LONGEST_ZONE - 500) // 16


def zone(name: str, offset: str, *, dates: int = 1) -> str:
    """Write a zone with one offset, of which as many dates are given as are needed to make it long."""
    lines = [f"TZOFFSETFROM:{offset}", f"TZOFFSETTO:{offset}", f"RDATE:{','.join(['19700101T000000'] * dates)}"]
    part = ["BEGIN:STANDARD", "DTSTART:19700101T000000", *lines, "END:STANDARD"]
    return "\r\n".join(["BEGIN:VTIMEZONE", f"TZID:{name}", *part, "END:VTIMEZONE"])


def weekly(uid: str, zone_name: str, *more: str) -> str:
    return event(uid, start=f"TZID={zone_name}:20260316T120000", more=[*WEEKLY, *more])


def as_object(text: str, href: str = "a.ics") -> ICalObject:
    return ICalObject(href=href, etag="1", text=text)


ORDINARY = calendar(
    zone("East", "+0500"),
    zone("West", "-0500"),
    weekly("a", "East"),
    event("a", start="TZID=West:20260323T080000", more=["RECURRENCE-ID;TZID=East:20260323T120000", "DURATION:PT2H"]),
    weekly("b", "West", "EXDATE;TZID=East:20260323T220000", "RDATE;TZID=East:20260401T120000"),
    event("c", start="TZID=East:20260318T090000", more=["DURATION:PT30M"]),
)
TIMES = [
    *("2026-03-16 07:00", "2026-03-16 17:00", "2026-03-18 04:00", "2026-03-23 13:00"),
    *("2026-03-30 07:00", "2026-03-30 17:00", "2026-04-01 07:00"),
]


async def test_several_series_in_several_zones_are_read_and_read_again_alike() -> None:
    (found,) = await read_objects([as_object(ORDINARY)], ASKED)
    assert found.series is not None
    (again,) = await expand_series([KeptSeries("a.ics", found.series)], ASKED)

    assert [f"{start:%Y-%m-%d %H:%M}" for start in instants(ORDINARY, ASKED)] == TIMES
    assert (again.spans, again.uid, again.is_unread) == (found.spans, found.uid, False)
    assert (again.series, found.series.count("BEGIN:VTIMEZONE")) == (found.series, 2)


async def test_a_zone_is_kept_once_however_many_events_of_an_object_name_it() -> None:
    zones = [zone(f"Q{number}", "+0500", dates=LONG) for number in range(5)]
    named = [f"EXDATE;TZID=Q{number}:20200101T000000" for number in range(5)]
    once = [event(f"{number}", start="TZID=Q1:20260316T120000", more=named) for number in range(200)]
    text = calendar(*zones, weekly("a", "Q0"), *once)

    (found,) = await read_objects([as_object(text)], ASKED)

    assert found.series is not None
    assert (len(found.spans), found.is_unread) == (3, False)
    assert len(found.series) < len(text) * 1.1


async def test_a_calendar_of_which_too_much_would_be_kept_is_refused_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = calendar(zone("Q", "+0500", dates=LONG), weekly("a", "Q"))
    monkeypatch.setattr(ical_objects, "Budget", lambda: Budget(bytes_=3 * LONGEST_ZONE))

    assert len(await read_objects([as_object(text, f"{number}.ics") for number in range(3)], ASKED)) == 3
    with pytest.raises(CalendarUnreadable, match="time zones are too long"):
        await read_objects([as_object(text, f"{number}.ics") for number in range(4)], ASKED)


async def test_what_does_not_repeat_is_not_kept_and_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = calendar(zone("Q", "+0500", dates=LONG), event("a", start="TZID=Q:20260316T120000", more=["DURATION:PT1H"]))
    monkeypatch.setattr(ical_objects, "Budget", lambda: Budget(bytes_=LONGEST_ZONE))

    found = await read_objects([as_object(text, f"{number}.ics") for number in range(4)], ASKED)

    assert [(each.series, len(each.spans)) for each in found] == [(None, 1)] * 4


def test_a_text_counts_as_many_bytes_as_it_takes_in_memory() -> None:
    budget = Budget(bytes_=10_000)
    assert budget.keep("a" * 9_000) == "a" * 9_000

    with pytest.raises(CalendarUnreadable, match="time zones are too long"):
        Budget(bytes_=10_000).keep("a" * 9_000 + "✨")
    with pytest.raises(CalendarUnreadable, match="time zones are too long"):
        budget.keep("a" * 9_000)
