"""The recurrence rules of RFC 5545, section 3.8.5.3, each with the dates that it tells; more with OPENSLOT_LONG."""

from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from random import Random

import icalendar
import pytest
import recurring_ical_events

from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.recurrence import BadRule, Budget, CountedMonths, PastTheEndError
from tests.domains.calendars.support import unbounded
from tests.support.hangs import within_a_second
from tests.support.ical import BERLIN, NEW_YORK, calendar, event, instants, scope
from tests.support.parts import LONG, how_many
from tests.support.some import some_cases

START = "TZID=America/New_York:19970902T090000"


def dates(text: str) -> list[str]:
    """Write `1997-09: 2 3 4; 10: 1` as days; the year goes on until another one is named."""
    days, year = [], 0
    for month in text.split(";"):
        head, _, numbers = month.partition(":")
        if "-" in head:
            year, head = int(head.split("-")[0]), head.split("-")[1]
        days += [f"{year}-{int(head):02}-{int(number):02}" for number in numbers.split()]
    return days


# Rule, start, the days from then to the end of the scope; times are those of the start.
EXAMPLES = [
    ("FREQ=DAILY;COUNT=10", START, "1997-09: 2 3 4 5 6 7 8 9 10 11"),
    ("FREQ=DAILY;INTERVAL=10;COUNT=5", START, "1997-09: 2 12 22; 10: 2 12"),
    ("FREQ=WEEKLY;COUNT=10", START, "1997-09: 2 9 16 23 30; 10: 7 14 21 28; 11: 4"),
    (
        "FREQ=WEEKLY;UNTIL=19971224T000000Z",
        START,
        "1997-09: 2 9 16 23 30; 10: 7 14 21 28; 11: 4 11 18 25; 12: 2 9 16 23",
    ),
    ("FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", START, "1997-09: 2 4 9 11 16 18 23 25 30; 10: 2"),
    ("FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", START, "1997-09: 2 4 9 11 16 18 23 25 30; 10: 2"),
    (
        "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "TZID=America/New_York:19970901T090000",
        "1997-09: 1 3 5 15 17 19 29; 10: 1 3 13 15 17 27 29 31; 11: 10 12 14 24 26 28; 12: 8 10 12 22",
    ),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", START, "1997-09: 2 4 16 18 30; 10: 2 14 16"),
    (
        "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "TZID=America/New_York:19970905T090000",
        "1997-09: 5; 10: 3; 11: 7; 12: 5; 1998-1: 2; 2: 6; 3: 6; 4: 3; 5: 1; 6: 5",
    ),
    (
        "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR",
        "TZID=America/New_York:19970905T090000",
        "1997-09: 5; 10: 3; 11: 7; 12: 5",
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "TZID=America/New_York:19970907T090000",
        "1997-09: 7 28; 11: 2 30; 1998-1: 4 25; 3: 1 29; 5: 3 31",
    ),
    (
        "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        "TZID=America/New_York:19970922T090000",
        "1997-09: 22; 10: 20; 11: 17; 12: 22; 1998-1: 19; 2: 16",
    ),
    (
        "FREQ=MONTHLY;COUNT=6;BYMONTHDAY=-3",
        "TZID=America/New_York:19970928T090000",
        "1997-09: 28; 10: 29; 11: 28; 12: 29; 1998-1: 29; 2: 26",
    ),
    (
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        START,
        "1997-09: 2 15; 10: 2 15; 11: 2 15; 12: 2 15; 1998-1: 2 15",
    ),
    (
        "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "TZID=America/New_York:19970930T090000",
        "1997-09: 30; 10: 1 31; 11: 1 30; 12: 1 31; 1998-1: 1 31; 2: 1",
    ),
    (
        "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "TZID=America/New_York:19970910T090000",
        "1997-09: 10 11 12 13 14 15; 1999-3: 10 11 12 13",
    ),
    (
        "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        "TZID=America/New_York:19970610T090000",
        "1997-06: 10; 07: 10; 1998-6: 10; 7: 10; 1999-6: 10; 7: 10; 2000-6: 10; 7: 10; 2001-6: 10; 7: 10",
    ),
    (
        "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "TZID=America/New_York:19970310T090000",
        "1997-03: 10; 1999-1: 10; 2: 10; 3: 10; 2001-1: 10; 2: 10; 3: 10; 2003-1: 10; 2: 10; 3: 10",
    ),
    (
        "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "TZID=America/New_York:19970101T090000",
        "1997-01: 1; 4: 10; 7: 19; 2000-1: 1; 4: 9; 7: 18; 2003-1: 1; 4: 10; 7: 19; 2006-1: 1",
    ),
    (
        "FREQ=YEARLY;BYDAY=20MO;UNTIL=19990601T000000Z",
        "TZID=America/New_York:19970519T090000",
        "1997-05: 19; 1998-5: 18; 1999-5: 17",
    ),
    (
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;UNTIL=19990601T000000Z",
        "TZID=America/New_York:19970512T090000",
        "1997-05: 12; 1998-5: 11; 1999-5: 17",
    ),
    (
        "FREQ=YEARLY;BYMONTH=3;BYDAY=TH;UNTIL=19980401T000000Z",
        "TZID=America/New_York:19970313T090000",
        "1997-03: 13 20 27; 1998-3: 5 12 19 26",
    ),
    (
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13;UNTIL=19980501T000000Z",
        "TZID=America/New_York:19970913T090000",
        "1997-09: 13; 10: 11; 11: 8; 12: 13; 1998-1: 10; 2: 7; 3: 7; 4: 11",
    ),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8;UNTIL=20050101T000000Z",
        "TZID=America/New_York:19961105T090000",
        "1996-11: 5; 2000-11: 7; 2004-11: 2",
    ),
    (
        "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        "TZID=America/New_York:19970904T090000",
        "1997-09: 4; 10: 7; 11: 6",
    ),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2;COUNT=4",
        "TZID=America/New_York:19970929T090000",
        "1997-09: 29; 10: 30; 11: 27; 12: 30",
    ),
    (
        "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5",
        "TZID=America/New_York:20070115T090000",
        "2007-1: 15 30; 2: 15; 3: 15 30",
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "TZID=America/New_York:19970805T090000",
        "1997-8: 5 10 19 24",
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "TZID=America/New_York:19970805T090000",
        "1997-8: 5 17 19 31",
    ),
]


@pytest.mark.parametrize(("rule", "start", "days"), EXAMPLES)
def test_the_examples_of_rfc_5545_give_the_dates_that_it_tells(rule: str, start: str, days: str) -> None:
    text = calendar(event("one", start=start, more=[f"RRULE:{rule}", "DURATION:PT1H"]))

    found = instants(text, scope("1996-01-01", "2010-01-01", NEW_YORK))

    assert [f"{at.astimezone(NEW_YORK):%Y-%m-%d}" for at in found] == dates(days)
    assert {f"{at.astimezone(NEW_YORK):%H:%M}" for at in found} == {"09:00"}


@pytest.mark.parametrize(
    ("rule", "times"),
    [
        ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", ["09:00", "12:00", "15:00"]),
        ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", ["09:00", "09:15", "09:30", "09:45", "10:00", "10:15"]),
        ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", ["09:00", "10:30", "12:00", "13:30"]),
        ("FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,20,40;COUNT=6", ["09:00", "09:20", "09:40", "10:00", "10:20", "10:40"]),
    ],
)
def test_the_examples_of_rfc_5545_within_a_day(rule: str, times: list[str]) -> None:
    text = calendar(event("one", start=START, more=[f"RRULE:{rule}", "DURATION:PT1M"]))

    found = instants(text, scope("1996-01-01", "2010-01-01", NEW_YORK))

    assert [f"{at.astimezone(NEW_YORK):%H:%M}" for at in found] == times


def test_a_rule_without_an_end_goes_on_however_long_ago_it_began() -> None:
    text = calendar(
        event("one", start="TZID=Europe/Berlin:20010101T083000", more=["RRULE:FREQ=DAILY", "DURATION:PT15M"])
    )

    found = instants(text, scope("2026-03-27", "2026-03-31", BERLIN))

    # Summer time begins on the 29th: the wall clock stays.
    assert [f"{at:%m-%d %H:%M}" for at in found] == ["03-27 07:30", "03-28 07:30", "03-29 06:30", "03-30 06:30"]


def test_a_rule_that_began_on_a_day_that_some_months_lack_keeps_that_day() -> None:
    rule = ["RRULE:FREQ=MONTHLY;INTERVAL=2", "DURATION:PT30M"]
    text = calendar(event("one", start="TZID=Europe/Berlin:20250131T090000", more=rule))

    found = instants(text, scope("2026-03-01", "2026-06-01", BERLIN))

    assert [f"{at:%m-%d}" for at in found] == ["03-31", "05-31"]


RULES = [
    ";".join([f"FREQ={frequency}", f"INTERVAL={interval}", *ending, *by])
    for frequency in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
    for interval in (1, 2, 3, 4)
    for ending in ([], ["COUNT=7"], ["UNTIL=20260401T000000Z"])
    for by in (
        [],
        ["BYDAY=MO,WE"],
        ["BYMONTH=3,6"],
        ["BYMONTHDAY=1,15,-1"],
        ["BYDAY=MO,FR", "BYSETPOS=1"],
        ["BYHOUR=8,16"],
    )
]
HOSTILE = how_many(300)
BEGINNINGS = [datetime(2026, 3, 16, 9, tzinfo=BERLIN) - timedelta(days=number) for number in range(2000)]
# A month may lack the day on which a rule began.
MONTH_ENDS = [start for start in BEGINNINGS if start.day > 28]


def test_rules_give_what_another_implementation_gives() -> None:
    chance = Random(7)
    for rule in RULES * 10 if LONG else chance.sample(RULES, how_many(120)):
        start = chance.choice(chance.choice([BEGINNINGS, MONTH_ENDS]))
        text = calendar(
            event("one", start=f"TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}", more=[f"RRULE:{rule}", "DURATION:PT30M"])
        )
        asked = scope("2026-03-01", "2026-06-01", BERLIN)

        theirs = recurring_ical_events.of(icalendar.Calendar.from_ical(text)).between(asked.first, asked.last)

        assert instants(text, asked) == sorted({each["DTSTART"].dt for each in theirs}), (rule, start)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=SECONDLY;COUNT=1000000000",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;COUNT=3",
        "FREQ=MINUTELY;BYDAY=MO,TU,WE,TH,FR,SA,SU;COUNT=999999999",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=-1",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31",
        "FREQ=DAILY;BYHOUR="
        + ",".join(map(str, range(24)))
        + ";BYMINUTE="
        + ",".join(map(str, range(60)))
        + ";BYSECOND=1,2",
        "FREQ=FORTNIGHTLY",
        "FREQ=DAILY;BYDAY=XX",
        "FREQ=DAILY;COUNT=x",
        "INTERVAL=2",
        "FREQ=MONTHLY;BYMONTHDAY=" + ",".join(["31"] * 2000),
    ],
)
@pytest.mark.parametrize(
    "year", some_cases([2026, 1971, 1600, 1], daily=1, why="expands the same rules from another year")
)
def test_no_rule_takes_more_than_its_share(rule: str, year: int) -> None:
    budget = Budget(50_000)
    begun = datetime.fromisoformat(f"{year:04}-03-02T09:00:00")

    with within_a_second(rule) if year > 1900 else nullcontext(), suppress(BadRule):
        assert len(list(unbounded(rule, begun, budget))) <= 20_000
    assert budget.left > -50_000


def test_a_rule_that_gives_nothing_is_left_at_the_end_of_the_time_asked_for() -> None:
    months = CountedMonths((3,), 2)

    assert [bool(months), bool(months)] == [True, True]
    with pytest.raises(PastTheEndError):
        bool(months)
    never = datetime.fromisoformat("2026-03-02T09:00:00")
    assert list(unbounded("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31", never, Budget())) == []


def test_events_beside_an_endless_one_still_count() -> None:
    hostile = [
        event(
            f"hostile-{n}",
            start="20260302T090000Z",
            more=["RRULE:FREQ=SECONDLY;BYDAY=MO,TU;COUNT=99999999", "DURATION:PT1S"],
        )
        for n in range(HOSTILE)
    ]
    text = calendar(*hostile, event("sound", start="20260316T090000Z", more=["DURATION:PT1H"]))

    found = read_events(text, scope("2026-03-01", "2028-03-01", BERLIN), budget=Budget(30_000))

    assert [each.uid for each in found if each.fault is None] == ["sound"]
    assert len(found) == HOSTILE + 1
