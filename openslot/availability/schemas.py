"""The wire shapes of availability; slots are written a day at a time with one look at the zone per change of offset."""

from bisect import bisect_left
from typing import Annotated
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from openslot.availability.models import SlotContext, Slots
from openslot.core.times import DAY, FOREVER, Instant, date_of, get_offsets, offset_at
from openslot.event_types.schemas import EmbeddedEventType, embed
from openslot.routing import DescribedAs


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
    return b"[" + ",".join(_write_all(slots, viewer)).encode() + b"]"


def _write_all(slots: Slots, viewer: ZoneInfo) -> list[str]:
    starts, duration = slots.starts, slots.duration
    if not starts:
        return []
    offsets = get_offsets(viewer, date_of(starts[0] // DAY), date_of(starts[-1] // DAY))
    written: list[str] = []
    at = 0
    for offset, run_end in zip(offsets.seconds, (*offsets.starts[1:], FOREVER), strict=True):
        while at < len(starts) and starts[at] < run_end:
            until = bisect_left(starts, min(run_end, _day_end(starts[at], offset, duration)), at)
            written += _write_run(starts[at:until], offset, duration)
            at = until
    for start, end in slots.session_ends.items():
        place = bisect_left(starts, start)
        if place < len(starts) and starts[place] == start:
            written[place : place + 1] = _write_run([start], offset_at(offsets, start), end - start)
    return written


def _day_end(start: int, offset: int, duration: int) -> int:
    """Return when the first of the three dates of a slot changes: the viewer's, that of its start, that of its end."""
    return start + DAY - max((start + offset) % DAY, start % DAY, (start + duration) % DAY)


def _write_run(starts: list[int], offset: int, duration: int) -> list[str]:
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
