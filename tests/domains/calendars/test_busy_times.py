"""When the events of a calendar keep their owner busy, as a table of what calendars write."""

import tracemalloc

import pytest

from openslot.domains.calendars.busy_times import read_events
from openslot.domains.calendars.prefilter import TooManyEvents, filter_text
from tests.support.ical import BERLIN, busy, calendar, event, scope

# March 2026: Berlin is an hour ahead of UTC until the 29th, then two.
ASKED = scope("2026-03-01", "2026-04-30", BERLIN, "mara@lindqvist.example")
CUSTOM_ZONE = """BEGIN:VTIMEZONE
TZID:Head office
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE"""
DAILY = ["RRULE:FREQ=DAILY;COUNT=4", "DURATION:PT1H"]


def shown(text: str) -> list[str]:
    return [f"{start:%m-%d %H:%M}/{end:%m-%d %H:%M}" for start, end in busy(text, ASKED)]


CASES = {
    "an hour": ([event("a", start="20260316T090000Z", end="20260316T100000Z")], ["03-16 09:00/03-16 10:00"]),
    "a day without an end": ([event("a", start="VALUE=DATE:20260316")], ["03-15 23:00/03-16 23:00"]),
    "two days over the change of the clock": (
        [event("a", start="VALUE=DATE:20260328", end="VALUE=DATE:20260330")],
        ["03-27 23:00/03-29 22:00"],
    ),
    "a day that repeats": (
        [event("a", start="VALUE=DATE:20260328", more=["RRULE:FREQ=DAILY;COUNT=2"])],
        ["03-27 23:00/03-29 22:00"],
    ),
    "a time without an end": ([event("a", start="20260316T090000Z")], []),
    "an end before its start": ([event("a", start="20260316T090000Z", end="20260316T080000Z")], []),
    "floating": ([event("a", start="20260316T090000", end="20260316T100000")], ["03-16 08:00/03-16 09:00"]),
    "a zone of its own": (
        [CUSTOM_ZONE, event("a", start="TZID=Head office:20260330T090000", end="TZID=Head office:20260330T100000")],
        ["03-30 07:00/03-30 08:00"],
    ),
    "a zone of its own, in winter": (
        [CUSTOM_ZONE, event("a", start='TZID="Head office":20260316T090000', end="TZID=Head office:20260316T100000")],
        ["03-16 08:00/03-16 09:00"],
    ),
    "a zone behind a path": (
        [event("a", start="TZID=/example.org/Asia/Tokyo:20260316T090000", more=["DURATION:PT1H"])],
        ["03-16 00:00/03-16 01:00"],
    ),
    "a zone that nobody knows": (
        [event("a", start="TZID=Middle Earth:20260316T090000", more=["DURATION:PT1H"])],
        ["03-16 08:00/03-16 09:00"],
    ),
    "a duration of a day keeps the wall clock": (
        [event("a", start="TZID=Europe/Berlin:20260328T120000", more=["DURATION:P1D"])],
        ["03-28 11:00/03-29 10:00"],
    ),
    "a duration of 24 hours does not": (
        [event("a", start="TZID=Europe/Berlin:20260328T120000", more=["DURATION:PT24H"])],
        ["03-28 11:00/03-29 11:00"],
    ),
    "transparent": ([event("a", start="20260316T090000Z", more=["DURATION:PT1H", "TRANSP:TRANSPARENT"])], []),
    "cancelled": ([event("a", start="20260316T090000Z", more=["DURATION:PT1H", "STATUS:CANCELLED"])], []),
    "declined by the host": (
        [
            event(
                "a",
                start="20260316T090000Z",
                more=["DURATION:PT1H", 'ATTENDEE;CN="Mara: L;";PARTSTAT=DECLINED:MAILTO:Mara@Lindqvist.example'],
            )
        ],
        [],
    ),
    "declined by another": (
        [event("a", start="20260316T090000Z", more=["DURATION:PT1H", "ATTENDEE;PARTSTAT=DECLINED:mailto:x@y.example"])],
        ["03-16 09:00/03-16 10:00"],
    ),
    "some times left out": (
        [event("a", start="20260316T090000Z", more=[*DAILY, "EXDATE:20260317T090000Z,20260318T090000Z"])],
        ["03-16 09:00/03-16 10:00", "03-19 09:00/03-19 10:00"],
    ),
    "left out in another zone": (
        [event("a", start="20260316T090000Z", more=[*DAILY, "EXDATE;TZID=Europe/Berlin:20260317T100000"])],
        ["03-16 09:00/03-16 10:00", "03-18 09:00/03-18 10:00", "03-19 09:00/03-19 10:00"],
    ),
    "left out by the day": (
        [event("a", start="20260316T090000Z", more=[*DAILY, "EXDATE;VALUE=DATE:20260317,20260318,20260319"])],
        ["03-16 09:00/03-16 10:00"],
    ),
    "left out by the day, at midnight in a zone far away, and changed": (
        [
            event("a", start="TZID=Asia/Kolkata:20260316T000000", more=[*DAILY, "EXDATE;VALUE=DATE:20260317,20260318"]),
            event(
                "a",
                start="TZID=Asia/Kolkata:20260317T053000",
                more=["RECURRENCE-ID;TZID=Asia/Kolkata:20260317T000000", "DURATION:PT1H"],
            ),
        ],
        ["03-15 18:30/03-15 19:30", "03-17 00:00/03-17 01:00", "03-18 18:30/03-18 19:30"],
    ),
    "more times": (
        [event("a", start="20260316T090000Z", more=["DURATION:PT1H", "RDATE:20260320T090000Z"])],
        ["03-16 09:00/03-16 10:00", "03-20 09:00/03-20 10:00"],
    ),
    "more times with lengths of their own": (
        [
            event(
                "a",
                start="20260316T090000Z",
                more=["DURATION:PT1H", "RDATE;VALUE=PERIOD:20260320T090000Z/PT2H,20260321T090000Z/20260321T093000Z"],
            )
        ],
        ["03-16 09:00/03-16 10:00", "03-20 09:00/03-20 11:00", "03-21 09:00/03-21 09:30"],
    ),
    "one of them moved": (
        [
            event("a", start="20260316T090000Z", more=["RRULE:FREQ=DAILY;COUNT=2", "DURATION:PT1H"]),
            event("a", start="20260317T130000Z", end="20260317T133000Z", more=["RECURRENCE-ID:20260317T090000Z"]),
        ],
        ["03-16 09:00/03-16 10:00", "03-17 13:00/03-17 13:30"],
    ),
    "one of them cancelled": (
        [
            event("a", start="20260316T090000Z", more=["RRULE:FREQ=DAILY;COUNT=2", "DURATION:PT1H"]),
            event(
                "a",
                start="20260317T090000Z",
                more=["RECURRENCE-ID:20260317T090000Z", "STATUS:CANCELLED", "DURATION:PT1H"],
            ),
        ],
        ["03-16 09:00/03-16 10:00"],
    ),
    "the newest word on one of them": (
        [
            event(
                "a",
                start="20260316T150000Z",
                end="20260316T160000Z",
                more=["RECURRENCE-ID:20260316T090000Z", "SEQUENCE:2"],
            ),
            event(
                "a",
                start="20260316T130000Z",
                end="20260316T140000Z",
                more=["RECURRENCE-ID:20260316T090000Z", "SEQUENCE:1"],
            ),
        ],
        ["03-16 15:00/03-16 16:00"],
    ),
    "all from one on moved and longer": (
        [
            event("a", start="20260316T090000Z", more=DAILY),
            event(
                "a",
                start="20260318T103000Z",
                end="20260318T123000Z",
                more=["RECURRENCE-ID;RANGE=THISANDFUTURE:20260318T090000Z"],
            ),
        ],
        [
            "03-16 09:00/03-16 10:00",
            "03-17 09:00/03-17 10:00",
            "03-18 10:30/03-18 12:30",
            "03-19 10:30/03-19 12:30",
        ],
    ),
    "all from one on cancelled": (
        [
            event("a", start="20260316T090000Z", more=DAILY),
            event(
                "a",
                start="20260317T090000Z",
                more=["RECURRENCE-ID;RANGE=THISANDFUTURE:20260317T090000Z", "STATUS:CANCELLED"],
            ),
        ],
        ["03-16 09:00/03-16 10:00"],
    ),
    "the end of a rule as a date includes the day": (
        [event("a", start="20260316T220000Z", more=["RRULE:FREQ=DAILY;UNTIL=20260317", "DURATION:PT1H"])],
        ["03-16 22:00/03-16 23:00", "03-17 22:00/03-17 23:00"],
    ),
    "two that overlap are one": (
        [event("a", start="20260316T090000Z", more=["RRULE:FREQ=HOURLY;COUNT=3", "DURATION:PT90M"])],
        ["03-16 09:00/03-16 12:30"],
    ),
    "a rule that makes no sense leaves the first": (
        [event("a", start="20260316T090000Z", more=["RRULE:FREQ=SOMETIMES", "DURATION:PT1H"])],
        ["03-16 09:00/03-16 10:00"],
    ),
    "an alarm's lines are not the event's": (
        [
            event(
                "a",
                start="20260316T090000Z",
                more=["BEGIN:VALARM", "DURATION:PT5H", "TRANSP:TRANSPARENT", "END:VALARM", "DURATION:PT1H"],
            )
        ],
        ["03-16 09:00/03-16 10:00"],
    ),
    "folded in the middle of a word": (
        ["BEGIN:VEVENT\r\nUID:a\r\nDTSTART:2026\r\n 0316T0900\r\n\t00Z\r\nDURATION:PT1H\r\nEND:VEVENT"],
        ["03-16 09:00/03-16 10:00"],
    ),
    "broken folding of a note": (
        [
            (
                "BEGIN:VEVENT\r\nUID:a\r\nDESCRIPTION:one\r\ntwo: three\r\n=\r\n;;;\r\nDTSTART:20260316T090000Z\r\n"
                "DURATION:PT1H\r\nEND:VEVENT"
            )
        ],
        ["03-16 09:00/03-16 10:00"],
    ),
    "an end that is lost": (
        [
            "BEGIN:VEVENT\r\nUID:a\r\nDTSTART:20260316T090000Z\r\nDURATION:PT1H",
            event("b", start="20260317T090000Z", more=["DURATION:PT1H"]),
        ],
        ["03-16 09:00/03-16 10:00", "03-17 09:00/03-17 10:00"],
    ),
    "a time that is none beside one that is": (
        [event("a", start="20261399T250000Z"), event("b", start="20260317T090000Z", more=["DURATION:PT1H"])],
        ["03-17 09:00/03-17 10:00"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_busy_times(case: str) -> None:
    components, expected = CASES[case]

    assert shown(calendar(*components)) == expected


def test_lines_may_end_in_any_way() -> None:
    text = calendar(event("a", start="20260316T090000Z", more=["DURATION:PT1H"]))

    for ending in ("\n", "\r", "\r\n"):
        assert len(shown("\ufeff" + text.replace("\r\n", ending))) == 1


def test_what_is_kept_of_an_event_reads_the_same_and_tells_nothing_else() -> None:
    components = [
        CUSTOM_ZONE,
        event("a", start="TZID=Head office:20260330T090000", more=[*DAILY, "SUMMARY:Secret", "DESCRIPTION:x"]),
    ]
    found, *_ = read_events(calendar(*components), ASKED)

    kept = found.source.write_all()
    assert shown(kept) == shown(calendar(*components))
    assert "Secret" not in kept
    assert "DESCRIPTION" not in kept


def test_only_what_touches_the_time_asked_for_counts() -> None:
    text = calendar(event("a", start="20200101T090000Z", end="20200101T100000Z"))

    assert [each.spans for each in read_events(text, ASKED)] == [()]


def test_a_calendar_with_too_many_events_is_refused() -> None:
    with pytest.raises(TooManyEvents):
        filter_text(calendar(*(event(str(n)) for n in range(20))), max_=19)


def test_a_zone_of_one_calendar_means_nothing_in_another() -> None:
    other = CUSTOM_ZONE.replace("+0100", "-0500").replace("+0200", "-0400")
    meeting = event("a", start="TZID=Head office:20260330T090000", more=["DURATION:PT1H"])

    assert shown(calendar(CUSTOM_ZONE, meeting)) == ["03-30 07:00/03-30 08:00"]
    assert shown(calendar(other, meeting)) == ["03-30 13:00/03-30 14:00"]
    assert shown(calendar(meeting)) == ["03-30 07:00/03-30 08:00"]


def test_a_line_without_end_takes_a_bounded_part_of_memory() -> None:
    text = (
        "BEGIN:VEVENT\nUID:a\nDTSTART:20260316T090000Z\nDURATION:PT1H\nEXDATE:"
        + "x" * 5_000_000
        + "\n "
        + "y" * 1_000_000
    )
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found, *_ = read_events(text + "\nEND:VEVENT", ASKED)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert len(found.spans) == 1
    assert after - before < 1_500_000
