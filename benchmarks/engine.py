"""The slot engine alone: how long it takes, and how it compares with writing the slots down."""

import gc
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from time import perf_counter
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.domains.availability.models import Busy, Days, HostInputs, SlotInputs, Slots, Taken
from openslot.domains.availability.schemas import write_day, write_slots
from openslot.domains.availability.slots import list_slots
from openslot.domains.event_types.models import EventType, RollingWindow
from openslot.domains.schedules.models import Schedule, TimeRange
from openslot.platform.core.times import floor_second, get_zone

FIRST = date(2026, 3, 2)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
VIEWER = "Europe/Berlin"
TARGETS_MS = {(7, 50): 0.5, (30, 500): 2.5, (365, 5000): 40.0}
TARGET_RATIO = 3.0
SIZES = [*TARGETS_MS, *((days, busy) for days in (7, 31, 62) for busy in (0, 50, 500, 5000))]
ROUNDS = 30


class Measured(Struct, frozen=True):
    """The best of many rounds for one size, in milliseconds."""

    days: int
    busy: int
    slots: int
    engine_ms: float
    writing_ms: float

    @property
    def ratio(self) -> float:
        """Slots computed and written, as a multiple of writing them alone."""
        return (self.engine_ms + self.writing_ms) / self.writing_ms if self.slots else 0.0


def measure_engine() -> list[Measured]:
    """Measure every size that has a target, then days against busy spans."""
    return [_measure(days, busy) for days, busy in dict.fromkeys(SIZES)]


def _measure(days: int, busy: int) -> Measured:
    inputs, viewer = _make_setting(days, busy), get_zone(VIEWER)
    asked = Days(FIRST, FIRST + timedelta(days=days - 1))
    engine_ms, slots = _best(lambda: list_slots(inputs, asked, viewer=viewer))
    writing_ms, _ = _best(lambda: _write(slots, viewer))
    return Measured(days, busy, len(slots.starts), engine_ms, writing_ms)


def _write(slots: Slots, viewer: ZoneInfo) -> Slots:
    """Write slots down; days that a process has kept as text are written again."""
    write_day.cache_clear()
    write_slots(slots, viewer=viewer)
    return slots


def _best(work: Callable[[], Slots]) -> tuple[float, Slots]:
    slots, best = work(), float("inf")
    gc.disable()
    for _ in range(ROUNDS):
        began = perf_counter()
        work()
        best = min(best, perf_counter() - began)
    gc.enable()
    return best * 1000, slots


def _make_setting(days: int, busy: int) -> SlotInputs:
    """Make Monday to Friday from nine to five in New York, with busy half hours all over the days."""
    nine_to_five, none = (TimeRange(540, 1020),), ()
    dice, begin = random.Random(days * busy), floor_second(NOW)
    starts = sorted(begin + dice.randrange(days * 96) * 900 for _ in range(busy))
    schedule = Schedule(
        id=UUID(int=1),
        owner_id=UUID(int=2),
        name="Office",
        zone="America/New_York",
        weekly_hours=(nine_to_five, nine_to_five, nine_to_five, nine_to_five, nine_to_five, none, none),
    )
    event_type = EventType(
        id=UUID(int=3),
        owner_id=UUID(int=2),
        schedule_id=UUID(int=1),
        name="Talk",
        slug="talk",
        duration_minutes=30,
        created_at=NOW,
        updated_at=NOW,
        slot_interval_minutes=15,
        booking_window=RollingWindow(730),
    )
    taken = Taken(busy=[Busy(start, start + 1800) for start in starts])
    host = HostInputs(host_no=1, name="Host", schedule=schedule, taken=taken)
    return SlotInputs.of_host(host, event_type, now=NOW)


def main() -> None:
    """Print the table; the portable figure is the ratio."""
    print(" days  busy  slots  engine ms  target  writing ms  ratio  target")
    for each in measure_engine():
        target = TARGETS_MS.get((each.days, each.busy))
        limits = (f"{target:.1f}", f"{TARGET_RATIO:.1f}") if target else ("", "")
        ratio = f"{each.ratio:.2f}" if each.slots else ""
        print(
            f"{each.days:>5} {each.busy:>5} {each.slots:>6} {each.engine_ms:>10.3f} {limits[0]:>7} "
            f"{each.writing_ms:>11.3f} {ratio:>6} {limits[1]:>7}"
        )


if __name__ == "__main__":
    main()
