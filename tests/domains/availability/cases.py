"""Questions to the engine: built by hand in tests, drawn at random for the oracle, and told in the engine's words."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from random import Random, SystemRandom
from uuid import UUID
from zoneinfo import ZoneInfo

import holidays
import msgspec

from openslot.domains.availability.models import Busy, Claim, GroupSession, HostInputs, SlotInputs, Slots, Taken
from openslot.domains.availability.schemas import Slot, write_slots
from openslot.domains.event_types.models import (
    BookingWindow,
    BusinessDaysWindow,
    EventType,
    Limits,
    RangeWindow,
    RollingWindow,
)
from openslot.domains.schedules.models import (
    DateOverride,
    HolidayCalendar,
    OutOfOffice,
    Schedule,
    TimeRange,
    WeeklyHours,
)
from tests.domains.availability.oracle import DAY, EPOCH, Case, Minutes
from tests.support.parts import LONG

ID = UUID(int=7)
MADE = datetime(2026, 1, 1, tzinfo=UTC)
NINE_TO_FIVE = (TimeRange(540, 1020),)
WORKING_WEEK: WeeklyHours = (NINE_TO_FIVE,) * 5 + ((), ())
CLOSED_WEEK: WeeklyHours = ((),) * 7
COUNTRY = HolidayCalendar("DE", "BY")
NO_SESSIONS: Mapping[int, GroupSession] = {}
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


def of_host(
    event_type: EventType,
    schedule: Schedule,
    *,
    now: datetime,
    claims: Iterable[Claim] = (),
    busy: Iterable[Busy] = (),
    booked: Iterable[int] = (),
    sessions: Mapping[int, GroupSession] = NO_SESSIONS,
    minutes: int | None = None,
) -> SlotInputs:
    """Describe a host's own event type, whose sessions take time as claims do."""
    of_sessions = (Claim(each.taken_from, each.taken_until, "session", start) for start, each in sessions.items())
    taken = Taken(claims=[*claims, *of_sessions], busy=[*busy])
    host = HostInputs(host_no=1, name="Host 1", schedule=schedule, taken=taken)
    return SlotInputs.of_host(host, event_type, now=now, minutes=minutes, sessions=sessions, booked=[*booked])


def make_session(
    taken_from: int, taken_until: int, *, end: int, seats_left: int, hosts: Iterable[int] = (1,)
) -> GroupSession:
    return GroupSession(
        id=ID,
        hosts=frozenset(hosts),
        taken_from=taken_from,
        taken_until=taken_until,
        end=end,
        seats_left=seats_left,
    )


def as_setting(case: Case) -> SlotInputs:
    """Tell a plain case in the engine's words."""
    schedule = make_schedule(
        case.zone,
        tuple(tuple(TimeRange(*each) for each in hours) for hours in case.weekly),  # type: ignore[arg-type]
        overrides=tuple(DateOverride(on, tuple(TimeRange(*each) for each in h)) for on, h in case.overrides.items()),
        out_of_office=tuple(OutOfOffice(_at(start), _at(end)) for start, end in case.away),
        holidays=COUNTRY if case.holidays else None,
    )
    event_type = make_event_type(
        case.default or case.duration,
        buffer_before=case.before,
        buffer_after=case.after,
        slot_interval_minutes=case.interval,
        min_notice_minutes=case.notice,
        booking_window=_window(case),
        limits=Limits(case.per_day, case.per_week),
        seats=5 if case.sessions else 1,
        durations=(case.default, case.duration) if case.default else (),
    )
    return of_host(
        event_type,
        schedule,
        now=_at(case.now),
        claims=[Claim(start * 60, end * 60) for start, end in case.claims],
        busy=[Busy(start * 60, end * 60) for start, end in case.busy],
        booked=[start * 60 for start in case.booked],
        sessions={
            start * 60: make_session(a * 60, b * 60, end=(start + case.duration) * 60, seats_left=left)
            for a, b, start, left in case.sessions
        },
        minutes=case.duration if case.default else None,
    )


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


Window = tuple[str, int] | tuple[date, date]
WINDOWS: list[Window] = [
    ("rolling", 60),
    ("rolling", 60),
    ("rolling", 60),
    ("rolling", 4),
    ("businessDays", 3),
    ("businessDays", 9),
]
ROUND_THE_CLOCK = (((0, DAY),),) * 7
OFFICE_HOURS = (((540, 1020),),) * 5 + ((), ())


def draw_cases(count: int, draw: Callable[[Random], Case]) -> Iterator[Case]:
    """Draw so many questions: the same in each run, and others each time in the long run."""
    first = SystemRandom().randrange(2**32) if LONG else 0
    return (draw(Random(seed)) for seed in range(first, first + count))


def check_each(questions: Iterable[Case], check: Callable[[Case], None]) -> None:
    """Check every question, and of those that fail report the one that is told in the fewest words."""
    failed: list[tuple[Case, AssertionError]] = []
    for case in questions:
        try:
            check(case)
        except AssertionError as error:
            failed.append((case, error))
    if failed:
        simplest, cause = min(failed, key=lambda each: len(repr(each[0])))
        raise AssertionError(f"{len(failed)} cases fail, the simplest is {simplest}") from cause


def draw_hours(chance: Random) -> tuple[Minutes, ...]:
    return tuple(_draw_range(chance) for _ in range(chance.randint(0, 3)))


def _draw_range(chance: Random) -> Minutes:
    fives = chance.randrange(288) * 5, chance.randrange(288) * 5
    start = chance.choice([0, 0, 60, 120, 150, 540, 1320, 1380, *fives[:1] * 8])
    end = chance.choice([120, 180, 1020, 1440, 1440, *fives[1:] * 5])
    return (start, end) if end > start else (start, end + DAY - (end == start) * 5)


def draw_week(chance: Random) -> tuple[tuple[Minutes, ...], ...]:
    hours = [draw_hours(chance) for _ in range(7)]
    return chance.choice([tuple(hours), (hours[0],) * 7, ROUND_THE_CLOCK, OFFICE_HOURS])


def draw_case(chance: Random) -> Case:
    """Draw a question near a change of the host's clocks, with about a third of the rules in play."""
    zone = chance.choice(ZONES)
    first = chance.choice(days_of_change(zone)) + timedelta(days=chance.randint(-4, 2))
    days = chance.randint(1, 7)
    base = (first - EPOCH).days * DAY
    duration = chance.choice([15, 30, 45, 60, 5, 20, 90, 30, 15, 240, 1440])

    def instants(max_: int) -> list[int]:
        return [base + chance.randint(-DAY // 5, (days + 1) * DAY // 5) * 5 for _ in range(chance.randint(0, max_))]

    def spans(max_: int) -> tuple[Minutes, ...]:
        lengths = [chance.randint(1, 24), chance.randint(1, 300)]
        return tuple((start, start + chance.choice(lengths) * 5) for start in instants(max_))

    def near() -> date:
        return first + timedelta(days=chance.randint(-3, days))

    span: Window = (near(), near() + timedelta(days=2))
    # On the hour, so that many of them are starts of the grid.
    sessions = sorted({start // 60 * 60 for start in instants(2)})
    return Case(
        zone=zone,
        viewer=chance.choice(ZONES),
        first=first,
        last=first + timedelta(days=days - 1),
        now=chance.choice([base - 3 * DAY, base - 3 * DAY, *instants(1)]),
        weekly=draw_week(chance),
        overrides={near(): draw_hours(chance) for _ in range(chance.randint(0, 3))},
        away=chance.choice([(), (), spans(2)]),
        holidays=chance.choice([frozenset(), bavarian_holidays()]),
        duration=duration,
        before=chance.choice([0, 0, 10, 15, 60, 480]),
        after=chance.choice([0, 0, 5, 30, 60, 480]),
        interval=chance.choice([None, 15, 5, 30, 50, 45, 60]),
        notice=chance.choice([0, 0, 0, 60, 125, DAY, 3 * DAY, 4 * DAY]),
        window=chance.choice([*WINDOWS, span, span]),
        per_day=chance.choice([None, None, None, 1, 2]),
        per_week=chance.choice([None, None, None, 2, 3]),
        claims=chance.choice([(), spans(4)]),
        sessions=tuple((s - 10, s + duration + 5, s, chance.randint(0, 2)) for s in sessions),
        busy=chance.choice([(), spans(5)]),
        booked=tuple(instants(4)),
        # Those who share a session share its end.
        default=None if sessions else chance.choice([None, 15, 25, 60, 240]),
    )


def draw_case_across_a_change(chance: Random) -> Case:
    """Draw hours that begin or end while the clocks change, with no other rule in play."""
    zone = chance.choice([zone for zone in ZONES if len(days_of_change(zone)) > 1])
    change = chance.choice(days_of_change(zone))
    begin = chance.choice([chance.randint(0, 20) * 15, chance.randint(1320, 1439)])
    night = ((begin, begin + chance.randint(2, 24) * 15),)
    return Case(
        zone=zone,
        viewer=chance.choice([zone, "UTC"]),
        first=change - timedelta(days=1),
        last=change + timedelta(days=1),
        now=(change - EPOCH).days * DAY - 3 * DAY,
        weekly=((),) * 7,
        overrides={change - timedelta(days=1): night, change: night},
        duration=chance.choice([5, 15, 30]),
    )


def show_slots(slots: Slots, *, viewer: ZoneInfo) -> list[Slot]:
    """Read what is written of slots."""
    return msgspec.json.decode(write_slots(slots, viewer=viewer), type=list[Slot])
