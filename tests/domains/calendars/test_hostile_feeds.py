"""Hostile iCalendar texts: they cost a bounded part of time and memory, and spoil no other event."""

import tracemalloc
from time import process_time

import pytest
from icalendar.timezone import tzp

from openslot.domains.accounts.models import User
from openslot.domains.calendars import prefilter, zones
from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.errors import TAKES_TOO_LONG, CalendarUnreadable
from openslot.domains.calendars.prefilter import LONGEST_LINE, LONGEST_ZONE, Block, filter_text
from openslot.domains.calendars.recurrence import BadRule, Budget, TakesTooLongError
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav import objects as ical_objects
from openslot.vendors.ics_feed import _split
from tests.domains.calendars.conftest import feed, get, open_starts
from tests.domains.calendars.support import unbounded
from tests.support.feeds import publishing
from tests.support.hangs import within_a_second
from tests.support.ical import BERLIN, busy, calendar, event, scope
from tests.support.some import some_cases

ASKED = scope("2026-03-01", "2026-04-30", BERLIN)
TEN = event("ten", start="20260316T100000Z", end="20260316T110000Z")
DAILY = event("a", start="20260316T120000Z", more=["DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=3"])


def zone(name: str, *, until: str = "20300101T000000Z", dates: int = 0) -> str:
    changes = [f"RDATE:{','.join(['19700101T000000'] * dates)}"] if dates else []
    offsets = ["TZOFFSETFROM:+0500", "TZOFFSETTO:+0500", f"RRULE:FREQ=YEARLY;UNTIL={until}"]
    lines = ["BEGIN:STANDARD", "DTSTART:19700101T000000", *offsets, *changes, "END:STANDARD"]
    return "\r\n".join(["BEGIN:VTIMEZONE", f"TZID:{name}", *lines, "END:VTIMEZONE"])


def changed(uid: str, at: str, to: str) -> str:
    return event(uid, start=to, more=[f"RECURRENCE-ID;RANGE=THISANDFUTURE:{at}", "DURATION:PT1H"])


UNREADABLE = {
    "a sequence that only begins as a number": [event("a", start="20260316T120000Z", more=["SEQUENCE:123456789x"])],
    "a sequence of 5000 digits": [event("a", start="20260316T120000Z", more=["SEQUENCE:" + "9" * 5000])],
    "a series that moves to the end of time": [DAILY, changed("a", "00020101T000000Z", "89990101T000000Z")],
    "a series that moves behind the end of time": [DAILY, changed("a", "20260317T000000Z", "89990101T000000Z")],
    "an end before the beginning of time": [event("a", start="VALUE=DATE:89991231", end="VALUE=DATE:00020101")],
    "a day that no year has": [event("a", start="20260316T120000Z", more=["RRULE:FREQ=YEARLY;BYDAY=+99999MO"])],
    "an hour that no day has": [event("a", start="20260316T120000Z", more=["RRULE:FREQ=HOURLY;BYHOUR=-53"])],
    "a minute that no hour has": [event("a", start="20260316T120000Z", more=["RRULE:FREQ=HOURLY;BYMINUTE=61"])],
    "a zone that ends with time itself": [
        zone("q", until="99991231T235959Z"),
        event("a", start="TZID=q:20260316T120000"),
    ],
    "a zone that ends before time begins": [
        zone("q", until="00010101T000000Z"),
        event("a", start="TZID=q:20260316T120000"),
    ],
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_an_event_that_makes_no_sense_leaves_the_others_their_times(case: str) -> None:
    with within_a_second(case):
        spans = busy(calendar(*UNREADABLE[case], TEN), ASKED)

    assert "10:00" in [f"{start:%H:%M}" for start, _ in spans]


BEGINNINGS = ["X-A", "X-A;", "ATTENDEE;CN=", 'ATTENDEE;CN="', "DTEND:", "RDATE;TZID=", "EXDATE:", "RRULE:", "BEGIN:"]
PIECES = [*' \t;":=,a1', "20260316T120000Z,", ";B=c", ';B="', ";BYDAY=MO", "\r\n ", "\r\n"]


@pytest.mark.parametrize("beginning", some_cases(BEGINNINGS, daily=3, why="is as long as the others"))
def test_no_line_however_long_is_read_for_more_than_a_second(beginning: str) -> None:
    for piece in PIECES:
        line = (beginning + piece * LONGEST_LINE)[:LONGEST_LINE]
        text = calendar(event("a", start="20260316T120000Z", more=[line]), TEN)
        with within_a_second(line):
            spans = busy(text, ASKED)
        assert "10:00" in [f"{start:%H:%M}" for start, _ in spans], piece


def test_a_zone_that_never_ends_still_has_its_offset() -> None:
    text = calendar(
        zone("q", until="99991231T235959Z"), event("a", start="TZID=q:20260316T120000", more=["DURATION:PT1H"])
    )

    assert [f"{start:%H:%M}" for start, _ in busy(text, ASKED)] == ["07:00"]


def test_components_inside_one_another_are_followed_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    deepest = 0
    follow = prefilter._follow

    def watch(block: Block, inside: list[str], kind: str, *, begins: bool) -> None:
        nonlocal deepest
        follow(block, inside, kind, begins=begins)
        deepest = max(deepest, len(inside))

    monkeypatch.setattr(prefilter, "_follow", watch)
    text = "\n".join(["BEGIN:VEVENT", *["BEGIN:X"] * 1000, *["END:Y"] * 1000, "END:VEVENT", TEN])

    assert (len(filter_text(text).events), deepest) == (2, 20)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY;BYHOUR=0;BYMINUTE=0;BYSECOND=0",
        "FREQ=SECONDLY;BYMINUTE=53;BYMONTHDAY=-1",
        "FREQ=SECONDLY;BYHOUR=3",
    ],
)
def test_a_rule_that_searches_every_second_for_a_few_is_refused_and_takes_nothing_from_others(rule: str) -> None:
    budget = Budget()
    hostile = [event(f"h{n}", start="20260301T000000Z", more=[f"RRULE:{rule}", "DURATION:PT1S"]) for n in range(200)]
    asked = scope("2026-03-01", "2028-03-01", BERLIN)

    with within_a_second(rule):
        events = read_events(calendar(*hostile, DAILY), asked, budget=budget)

    assert [each.fault for each in events] == ["its rule takes too long to expand"] * 200 + [None]
    with pytest.raises(BadRule):
        list(unbounded(rule, ASKED.first.replace(tzinfo=None), budget))


def test_a_zone_that_is_too_long_is_left_out() -> None:
    text = calendar(zone("long", dates=LONGEST_ZONE // 16), zone("x" * 256), zone("short"), TEN)

    assert list(filter_text(text).zones) == ["short"]


def test_zones_are_kept_only_with_events_that_need_them() -> None:
    berlin, own = zone("Europe/Berlin"), zone("Head office")
    kept = _split(
        calendar(
            berlin,
            own,
            event("known", start="TZID=Europe/Berlin:20260316T120000"),
            event("own", start="TZID=Head office:20260316T120000"),
        ).encode()
    )

    assert {href: "BEGIN:VTIMEZONE" in each.text for href, each in kept.items()} == {"known": False, "own": True}


@pytest.mark.rest("traces the memory of a large feed")
def test_a_feed_that_grows_by_its_zones_is_refused_before_memory_is_full() -> None:
    dates = (LONGEST_ZONE - 500) // 16
    events = [event(f"{n}", start="TZID=q:20260316T120000") for n in range(5000)]
    text = calendar(zone("q", dates=dates), *events).encode()
    assert len(text) < 500_000

    tracemalloc.start()
    with pytest.raises(CalendarUnreadable, match="time zones are too long"):
        _split(text)
    _, max_ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert max_ < 150_000_000


def test_a_zone_is_read_once_however_many_times_name_it() -> None:
    dates = ",".join(["20260316T120000"] * 3000)
    text = calendar(zone("q", dates=1000), event("a", start="TZID=q:20260316T120000", more=[f"RDATE;TZID=q:{dates}"]))
    zones._define.cache_clear()

    read_events(text, ASKED)

    found = zones._define.cache_info()
    assert (found.misses, found.hits >= 3000) == (1, True)


@pytest.mark.parametrize(
    "line",
    ["X-WR-CALNAME:a\0b", "X-WR-CALNAME:\0", event("nul\0", start="20260317T100000Z", more=["RRULE:FREQ=DAILY"])],
)
async def test_a_feed_with_nul_is_read_like_any_other(runtime: Runtime, user: User, line: str) -> None:
    async with publishing(calendar(line, TEN)) as published:
        connection = await feed(runtime, user, published.url)

        assert await sync_connection(runtime, connection.id) is None
        assert "10:00" not in await open_starts(runtime, user)


async def test_an_event_with_a_name_of_a_thousand_foreign_letters_is_kept(runtime: Runtime, user: User) -> None:
    name = "".join(chr(0x20000 + n * 7) for n in range(2000))
    async with publishing(calendar(event(name, start="20260316T100000Z", end="20260316T110000Z"))) as published:
        connection = await feed(runtime, user, published.url)

        assert await sync_connection(runtime, connection.id) is None
        assert "10:00" not in await open_starts(runtime, user)


async def test_a_tag_that_can_not_be_sent_back_does_not_end_the_readings(runtime: Runtime, user: User) -> None:
    async with publishing(calendar(TEN)) as published:
        published.etag = '"é"'
        connection = await feed(runtime, user, published.url)

        assert [await sync_connection(runtime, connection.id) for _ in range(2)] == [None, None]
        assert (await get(runtime, connection)).failures == 0


@pytest.mark.rest("waits for seconds")
def test_a_calendar_that_takes_too_long_is_left_when_its_time_is_over() -> None:
    rule = ["RRULE:FREQ=DAILY;BYHOUR=1,2,3,4,5,6,7,8", "DURATION:PT1H"]
    text = calendar(*(event(f"{n}", start="20260301T000000Z", more=rule) for n in range(5000)))

    began = process_time()
    with pytest.raises(TakesTooLongError):
        read_events(text, scope("2026-03-01", "2028-03-01", BERLIN), budget=Budget(10**9, seconds=0.5))

    assert process_time() - began < 10


async def test_a_reading_that_takes_too_long_is_told_and_leaves_what_is_known(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with publishing(calendar(TEN)) as published:
        connection = await feed(runtime, user, published.url)
        assert await sync_connection(runtime, connection.id) is None
        published.publish(calendar(event("two", start="20260316T140000Z", end="20260316T150000Z")))
        monkeypatch.setattr(ical_objects, "Budget", lambda: Budget(seconds=-1))

        fault = await sync_connection(runtime, connection.id)

        assert fault == TAKES_TOO_LONG
        assert (await get(runtime, connection)).last_error == TAKES_TOO_LONG.kept
        offered = await open_starts(runtime, user)
        assert ("10:00" in offered, "14:00" in offered) == (False, True)
        monkeypatch.setattr(ical_objects, "Budget", Budget)
        assert await sync_connection(runtime, connection.id) is None
        offered = await open_starts(runtime, user)
        assert ("10:00" in offered, "14:00" in offered) == (True, False)


def test_a_zone_that_never_changes_is_left_at_the_end_of_the_time_asked_for() -> None:
    never = zone("q").replace("FREQ=YEARLY;UNTIL=20300101T000000Z", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30")
    zones._define.cache_clear()

    with within_a_second(never):
        found = busy(calendar(never, event("a", start="TZID=q:20260316T120000", more=["DURATION:PT1H"])), ASKED)

    assert [f"{start:%H:%M}" for start, _ in found] == ["07:00"]


def test_no_zone_of_a_calendar_is_kept_by_the_library() -> None:
    read_events(calendar(zone("Own"), event("a", start="TZID=Own:20260316T120000", more=["DURATION:PT1H"])), ASKED)

    assert tzp.timezone("Own") is None
