"""Questions to the engine: built by hand in tests, drawn at random for the oracle, and told in the engine's words."""

import os
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from uuid import UUID
from zoneinfo import ZoneInfo

import holidays
import msgspec
from hypothesis import strategies as st

from openslot.availability.models import Busy, Claim, Setting, Slot, Slots, Taken
from openslot.availability.slot_json import write_slots
from openslot.event_types.models import (
    BookingWindow,
    BusinessDaysWindow,
    EventType,
    Limits,
    RangeWindow,
    RollingWindow,
)
from openslot.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, Schedule, TimeRange, WeeklyHours
from tests.availability.oracle import DAY, EPOCH, Case, Minutes

LONG = os.environ.get("OPENSLOT_LONG") == "1"
ID = UUID(int=7)
MADE = datetime(2026, 1, 1, tzinfo=UTC)
NINE_TO_FIVE = (TimeRange(540, 1020),)
WORKING_WEEK: WeeklyHours = (NINE_TO_FIVE,) * 5 + ((), ())
CLOSED_WEEK: WeeklyHours = ((),) * 7
COUNTRY = HolidayCalendar("DE", "BY")
ZONES = (
    "America/New_York", "Europe/Berlin", "Europe/London", "UTC",
    "Australia/Lord_Howe",  # shifts of half an hour
    "Antarctica/Troll",  # shifts of two hours
    "Africa/Cairo", "Asia/Beirut", "America/Havana", "America/Santiago", "America/Nuuk", "Atlantic/Azores",  # midnight
    "Africa/Casablanca", "Asia/Gaza",  # irregular dates
    "Asia/Kathmandu", "Pacific/Chatham", "America/St_Johns",  # odd offsets
    "Pacific/Kiritimati", "Pacific/Pago_Pago",  # both sides of the date line
)  # fmt: skip


def make_schedule(zone: str = "America/New_York", weekly_hours: WeeklyHours = WORKING_WEEK, **more: object) -> Schedule:
    return Schedule(id=ID, owner_id=ID, name="Hours", zone=zone, weekly_hours=weekly_hours, **more)  # type: ignore[arg-type]


def make_event_type(duration_minutes: int = 30, **more: object) -> EventType:
    return EventType(
        id=ID,
        owner_id=ID,
        schedule_id=ID,
        name="Talk",
        slug="talk",
        duration_minutes=duration_minutes,
        created_at=MADE,
        updated_at=MADE,
        **more,  # type: ignore[arg-type]
    )


def every_day(*hours: TimeRange) -> WeeklyHours:
    return (hours, hours, hours, hours, hours, hours, hours)


def at(text: str) -> datetime:
    """Read an instant of UTC, such as 2026-03-08 07:00."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def second(text: str) -> int:
    return int(at(text).timestamp())


def as_setting(case: Case) -> Setting:
    """Tell a plain case in the engine's words."""
    schedule = make_schedule(
        case.zone,
        tuple(tuple(TimeRange(*each) for each in hours) for hours in case.weekly),  # type: ignore[arg-type]
        overrides=tuple(DateOverride(on, tuple(TimeRange(*each) for each in h)) for on, h in case.overrides.items()),
        out_of_office=tuple(OutOfOffice(_at(start), _at(end)) for start, end in case.away),
        holidays=COUNTRY if case.holidays else None,
    )
    event_type = make_event_type(
        case.duration,
        buffer_before=case.before,
        buffer_after=case.after,
        slot_interval_minutes=case.interval,
        min_notice_minutes=case.notice,
        booking_window=_window(case),
        limits=Limits(case.per_day, case.per_week),
        seats=5 if case.sessions else 1,
    )
    claims = [Claim(start * 60, end * 60) for start, end in case.claims]
    claims += [Claim(a * 60, b * 60, "session", start * 60, left) for a, b, start, left in case.sessions]
    taken = Taken(
        claims=claims,
        busy=[Busy(start * 60, end * 60) for start, end in case.busy],
        booked=[start * 60 for start in case.booked],
    )
    return Setting(event_type=event_type, schedule=schedule, taken=taken, now=_at(case.now))


def _window(case: Case) -> BookingWindow:
    kind, extent = case.window
    if isinstance(kind, date) and isinstance(extent, date):
        return RangeWindow(kind, extent)
    assert isinstance(extent, int)
    return RollingWindow(extent) if kind == "rolling" else BusinessDaysWindow(extent)


def _at(minute: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)


@cache
def days_of_change(zone: str) -> list[date]:
    """List the days on which a zone's clocks change, or one day if they never do; years from 2028 in the long run."""
    clock = ZoneInfo(zone)
    noons = [datetime(2026, 1, 1, 12, tzinfo=clock) + timedelta(days=n) for n in range((5 if LONG else 2) * 365)]
    return [b.date() for a, b in pairwise(noons) if a.utcoffset() != b.utcoffset()] or [date(2027, 6, 16)]


@cache
def bavarian_holidays() -> frozenset[date]:
    return frozenset(holidays.country_holidays("DE", subdiv="BY", years=range(2025, 2033)))


WINDOWS = [("rolling", 60), ("rolling", 60), ("rolling", 60), ("rolling", 4), ("businessDays", 3), ("businessDays", 9)]
_fives = st.integers(0, 287).map(lambda n: n * 5)


@st.composite
def time_ranges(draw: st.DrawFn) -> Minutes:
    start = draw(st.sampled_from([0, 0, 60, 120, 150, 540, 1320, 1380]) | _fives)
    end = draw(st.sampled_from([120, 180, 1020, 1440, 1440]) | _fives)
    return (start, end) if end > start else (start, end + DAY - (end == start) * 5)


_hours = st.lists(time_ranges(), max_size=3).map(tuple)
_weeks = st.one_of(
    st.tuples(*[_hours] * 7),
    st.just((((0, DAY),),) * 7),
    st.just((((540, 1020),),) * 5 + ((), ())),
    _hours.map(lambda hours: (hours,) * 7),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a question near a change of the host's clocks."""
    zone = draw(st.sampled_from(ZONES))
    first = draw(st.sampled_from(days_of_change(zone))) + timedelta(days=draw(st.integers(-4, 2)))
    days = draw(st.integers(1, 7))
    base = (first - EPOCH).days * DAY
    instants = st.integers(-DAY // 5, (days + 1) * DAY // 5).map(lambda n: base + n * 5)
    spans = st.tuples(instants, st.integers(1, 24) | st.integers(1, 300)).map(lambda s: (s[0], s[0] + s[1] * 5))
    near = st.integers(-3, days).map(lambda n: first + timedelta(days=n))
    starts = draw(st.lists(instants, max_size=2, unique=True))
    duration = draw(st.sampled_from([15, 30, 45, 60, 5, 20, 90, 30, 15, 240, 1440]))
    return Case(
        zone=zone,
        viewer=draw(st.sampled_from(ZONES)),
        first=first,
        last=first + timedelta(days=days - 1),
        now=draw(st.sampled_from([base - 3 * DAY, base - 3 * DAY, draw(instants)])),
        weekly=draw(_weeks),
        overrides=draw(st.dictionaries(near, _hours, max_size=3)),
        away=draw(st.sampled_from([(), (), (draw(spans),)])),
        holidays=draw(st.sampled_from([frozenset(), bavarian_holidays()])),
        duration=duration,
        before=draw(st.sampled_from([0, 0, 10, 15, 60, 480])),
        after=draw(st.sampled_from([0, 0, 5, 30, 60, 480])),
        interval=draw(st.sampled_from([None, 15, 5, 30, 50, 45, 60])),
        notice=draw(st.sampled_from([0, 0, 0, 60, 125, DAY, 3 * DAY, 4 * DAY])),
        window=draw(st.sampled_from(WINDOWS) | st.tuples(near, near.map(lambda on: on + timedelta(days=2)))),
        per_day=draw(st.sampled_from([None, None, None, 1, 2])),
        per_week=draw(st.sampled_from([None, None, None, 2, 3])),
        claims=draw(st.lists(spans, max_size=4).map(tuple)),
        sessions=tuple((s - 10, s + duration + 5, s, draw(st.integers(0, 2))) for s in starts),
        busy=draw(st.lists(spans, max_size=5).map(tuple)),
        booked=draw(st.lists(instants, max_size=4).map(tuple)),
    )


@st.composite
def cases_across_a_change(draw: st.DrawFn) -> Case:
    """Draw hours that begin or end while the clocks change, with no other rule in play."""
    zone = draw(st.sampled_from([zone for zone in ZONES if len(days_of_change(zone)) > 1]))
    change = draw(st.sampled_from(days_of_change(zone)))
    begin = draw(st.integers(0, 20).map(lambda n: n * 15) | st.integers(1320, 1439))
    length = draw(st.integers(2, 24).map(lambda n: n * 15))
    night = ((begin, begin + length),)
    return Case(
        zone=zone,
        viewer=draw(st.sampled_from([zone, "UTC"])),
        first=change - timedelta(days=1),
        last=change + timedelta(days=1),
        now=(change - EPOCH).days * DAY - 3 * DAY,
        weekly=((),) * 7,
        overrides={change - timedelta(days=1): night, change: night},
        duration=draw(st.sampled_from([5, 15, 30])),
    )


def show_slots(slots: Slots, *, viewer: ZoneInfo) -> list[Slot]:
    """Read what is written of slots."""
    return msgspec.json.decode(write_slots(slots, viewer=viewer), type=list[Slot])
