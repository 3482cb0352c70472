"""The grid: spans of whole seconds, and the starts of an offer in order, each a bit of one number."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, compress, pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.platform.core.times import DAY, FOREVER, date_of, get_offsets, instant_of

_BITS = bytes.maketrans(b"01", b"\0\1")

Interval = tuple[int, int]


def merge(spans: Iterable[tuple[int, ...]]) -> list[Interval]:
    """Join the spans that touch or overlap, and put all in order; what follows start and end is left out."""
    ordered = sorted(spans)
    if not ordered:
        return []
    merged: list[Interval] = []
    begin, until = ordered[0][:2]
    for span in ordered:
        end = span[1]
        if span[0] > until:
            merged.append((begin, until))
            begin, until = span[0], end
        elif end > until:
            until = end
    merged.append((begin, until))
    return merged


def subtract(spans: Iterable[Interval], holes: list[Interval]) -> list[Interval]:
    """Return the parts of the spans that no hole covers; both must be merged."""
    left: list[Interval] = []
    at = 0
    for start, end in spans:
        begin = start
        at = _skip(holes, at, before=begin)
        index = at
        while index < len(holes) and holes[index][0] < end:
            hole_start, hole_end = holes[index]
            if hole_start > begin:
                left.append((begin, hole_start))
            begin = hole_end
            index += 1
        if begin < end:
            left.append((begin, end))
    return left


def invert(spans: list[Interval]) -> list[Interval]:
    """List all that lies before, between and after some spans; they must be merged."""
    edges = [-FOREVER, *chain.from_iterable(spans), FOREVER]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _skip(spans: Sequence[tuple[int, ...]], at: int, *, before: int) -> int:
    while at < len(spans) and spans[at][1] <= before:
        at += 1
    return at


class Steps(NamedTuple):
    """Some days of a calendar, and how many seconds its starts are apart."""

    zone: ZoneInfo
    first_day: int
    last_day: int
    step: int


class Grid(Struct, frozen=True, eq=False):
    """Starts in order; the lowest bit of a number stands for the first."""

    starts: Sequence[int]
    step: int = 0
    """How many seconds all of them are apart; 0 if that differs."""

    @property
    def all(self) -> int:
        return (1 << len(self.starts)) - 1

    def has(self, start: int) -> bool:
        at = self.find(start)
        return at < len(self.starts) and self.starts[at] == start

    def find(self, instant: int) -> int:
        """Find the place of the first start that is not before an instant."""
        return bisect_left(self.starts, instant)

    def cover(self, spans: Iterable[tuple[int, ...]]) -> int:
        """Return the bits of many spans: to change a long number for each of them would take longer."""
        starts, size, step = self.starts, len(self.starts), self.step
        begin, covered = starts[0] if starts else 0, bytearray(b"0") * size
        for span in spans:
            # Where all starts are as far apart, to count is faster than to search.
            if step:
                low, high = max(-((begin - span[0]) // step), 0), min(-((begin - span[1]) // step), size)
            else:
                low, high = bisect_left(starts, span[0]), bisect_left(starts, span[1])
            if low < high:
                covered[low:high] = b"1" * (high - low)
        covered.reverse()
        return int(covered, 2) if size else 0

    def pick(self, bits: int) -> list[int]:
        """List the starts of some bits.

        The binary digits, lowest first, as bytes 0 and 1 select them: C code lists a month, without a shift of a number
        of thousands of bits for each start.
        """
        return list(compress(self.starts, f"{bits:b}"[::-1].encode().translate(_BITS)))


# benchmarks/caches.py: lay the grid of a team's 62 days, 580 times
@lru_cache(maxsize=32)
def lay_steps(steps: Steps) -> Grid:
    """Lay out the starts of some days, whose steps are counted from each midnight; a process keeps them."""
    zone, first_day, last_day, step = steps
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    midnights = [instant_of(offsets, day * DAY) for day in range(first_day, last_day + 2)]
    starts = [start for begin, end in pairwise(midnights) for start in range(begin, end, step)]
    # No two are farther apart than a step. Of even ones a range is kept: days of minutes would take megabytes.
    is_even = starts[-1] - starts[0] == step * (len(starts) - 1)
    return Grid(range(starts[0], starts[-1] + 1, step), step) if is_even else Grid(starts)


def pick_starts(stretches: Iterable[Interval], closed: Sequence[tuple[int, ...]], *, step: int) -> list[int]:
    """List the starts that nothing closes, each stretch counting its own steps from its beginning.

    Both must be in order; what is closed may overlap.
    """
    starts: list[int] = []
    at = 0
    for anchor, until in stretches:
        at = _skip(closed, at, before=anchor)
        start = anchor
        for span in closed[at : bisect_left(closed, (until,), at)]:
            end = span[1]
            if end <= start:
                continue
            if span[0] > start:
                starts.extend(range(start, span[0], step))
            start = anchor - (anchor - end) // step * step
            if start >= until:
                break
        starts.extend(range(start, until, step))
    return starts
