"""The wire shapes of availability; slots are written a day at a time with one look at the zone per change of offset."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import starmap
from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from openslot.domains.availability.models import SlotContext, Slots
from openslot.domains.event_types.schemas import EmbeddedEventType, embed
from openslot.platform.core.times import DAY, FOREVER, Instant, date_of, get_offsets
from openslot.platform.routing import DescribedAs

KEPT_DAYS = 256
"""How many days a process keeps as text, 13 kB or less each where slots are 15 minutes apart."""


class _Dates(dict[int, str]):
    """The text of each day number, written once."""

    def __missing__(self, day: int) -> str:
        text = self[day] = date_of(day).isoformat()
        return text


class _LocalClock(dict[int, str]):
    """Hour and minute of each second of a day, written once."""

    def __missing__(self, second: int) -> str:
        text = self[second] = f"{second // 3600:02d}:{second // 60 % 60:02d}"
        return text


class _UtcClock(dict[int, str]):
    """The time of each second of a day as it follows a date, written once."""

    def __missing__(self, second: int) -> str:
        text = self[second] = f"T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"
        return text


_DATES, _LOCAL, _UTC = _Dates(), _LocalClock(), _UtcClock()


def write_slots(slots: Slots, *, viewer: ZoneInfo) -> bytes:
    """Write slots as a JSON list: date and time as the viewer's clock shows them, start and end in UTC."""
    return b"[%b]" % b",".join(starmap(write_day, _split_days(slots, viewer)))


def _split_days(slots: Slots, viewer: ZoneInfo) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Split slots into those of a day in UTC that have the same offset and duration."""
    starts = slots.starts
    if not starts:
        return
    offsets = get_offsets(viewer, date_of(starts[0] // DAY), date_of(starts[-1] // DAY))
    sessions = sorted(slots.session_ends)
    at = 0
    for offset, run_end in zip(offsets.seconds, (*offsets.starts[1:], FOREVER), strict=True):
        while at < len(starts) and starts[at] < run_end:
            first, duration = starts[at], slots.duration
            end = min(run_end, first - first % DAY + DAY)
            if sessions:
                end = min(end, next((each for each in sessions if each > first), end))
                if first in slots.session_ends:
                    duration, end = slots.session_ends[first] - first, first + 1
            until = bisect_left(starts, end, at)
            yield tuple(starts[at:until]), offset, duration
            at = until


# benchmarks/caches.py: write 7 days of slots, 7.3 times
@lru_cache(maxsize=KEPT_DAYS)
def write_day(starts: tuple[int, ...], offset: int, duration: int) -> bytes:
    """Write the slots of a day in UTC; a process keeps those that were written last."""
    written: list[str] = []
    at = 0
    while at < len(starts):
        until = bisect_left(starts, _dates_end(starts[at], offset, duration), at)
        written += _write_run(starts[at:until], offset, duration)
        at = until
    return ",".join(written).encode()


def _dates_end(start: int, offset: int, duration: int) -> int:
    """Return when the first of the three dates of a slot changes: the viewer's, that of its start, that of its end."""
    return start + DAY - max((start + offset) % DAY, start % DAY, (start + duration) % DAY)


def _write_run(starts: tuple[int, ...], offset: int, duration: int) -> list[str]:
    shown, begun, ended = (starts[0] + offset) // DAY, starts[0] // DAY, (starts[0] + duration) // DAY
    head = f'{{"date":"{_DATES[shown]}","time":"'
    start_date, end_date = f'","startTime":"{_DATES[begun]}', f'","endTime":"{_DATES[ended]}'
    to_local, to_start, to_end = offset - shown * DAY, begun * DAY, duration - ended * DAY
    local, utc = _LOCAL, _UTC
    return [
        f'{head}{local[at + to_local]}{start_date}{utc[at - to_start]}{end_date}{utc[at + to_end]}"}}' for at in starts
    ]


class Slot(Struct, frozen=True, rename="camel"):
    """An available slot."""

    date: Annotated[str, Meta(description="In the requested time zone", examples=["2026-03-16"])]
    time: Annotated[str, Meta(description="In the requested time zone, HH:MM", examples=["10:00"])]
    start_time: Instant
    end_time: Instant


class OpenSlots(Struct, frozen=True, kw_only=True, rename="camel"):
    """The available slots, in order."""

    data: list[Slot]
    event_type: EmbeddedEventType
    timezone: Annotated[str, Meta(examples=["Europe/Berlin"])]


class WrittenSlots(Struct, frozen=True, kw_only=True, rename="camel"):
    """`OpenSlots` whose list is written already: one text is many times faster than a Struct for each slot."""

    data: msgspec.Raw
    event_type: EmbeddedEventType
    timezone: str


ShownSlots = Annotated[WrittenSlots, DescribedAs(OpenSlots)]


def show_open(found: SlotContext, slots: Slots, zone: ZoneInfo) -> WrittenSlots:
    written = msgspec.Raw(write_slots(slots, viewer=zone))
    return WrittenSlots(data=written, event_type=embed(found.inputs.event_type), timezone=str(zone))
