"""The starts of a team's calendar as bits of one number."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import compress, pairwise
from math import gcd
from zoneinfo import ZoneInfo

from msgspec import Struct

from openslot.platform.core.times import DAY, date_of, get_offsets, instant_of

_BITS = bytes.maketrans(b"01", b"\0\1")


class TeamGrid(Struct, frozen=True, eq=False):
    """The starts of some days of a team's calendar: each bit stands for an instant, so many seconds after the last."""

    first: int
    """The instant of the first bit, a midnight."""

    unit: int
    size: int
    starts: int
    """The bits that are starts: steps that are counted from each midnight."""

    @property
    def end(self) -> int:
        return self.first + self.size * self.unit

    def between(self, first: int, until: int) -> int:
        """Return the bits from one instant on, up to another."""
        low = max(-((self.first - first) // self.unit), 0)
        high = min(-((self.first - until) // self.unit), self.size)
        return (1 << high) - (1 << low) if low < high else 0

    def cover(self, spans: Iterable[tuple[int, ...]]) -> int:
        """Return the bits of many spans: to change a long number for each of them would take longer."""
        begin, unit, size = self.first, self.unit, self.size
        covered = bytearray(b"0" * size)
        for span in spans:
            low, high = max(-((begin - span[0]) // unit), 0), min(-((begin - span[1]) // unit), size)
            if low < high:
                covered[low:high] = b"1" * (high - low)
        covered.reverse()
        return int(covered, 2) if size else 0

    def has(self, start: int) -> bool:
        bit, rest = divmod(start - self.first, self.unit)
        return not rest and bit >= 0 and bool(self.starts >> bit & 1)

    def list_starts(self, bits: int) -> list[int]:
        # The binary digits, lowest first, as bytes 0 and 1 select the instants: a month is listed by C code, without a
        # shift of a number of thousands of bits for each start.
        shown = f"{bits:b}"[::-1].encode().translate(_BITS)
        return list(compress(range(self.first, self.end, self.unit), shown))


# benchmarks/caches.py: lay the grid of a team's 62 days, 190 times
@lru_cache(maxsize=256)
def lay_team_grid(zone: ZoneInfo, first_day: int, last_day: int, step: int) -> TeamGrid:
    """Lay out the starts of some days, such that all midnights and steps are on bits."""
    offsets = get_offsets(zone, date_of(first_day), date_of(last_day))
    midnights = [instant_of(offsets, day * DAY) for day in range(first_day, last_day + 2)]
    first, unit = midnights[0], gcd(step, *(after - before for before, after in pairwise(midnights)))
    starts, apart = 0, step // unit
    for begin, end in pairwise(midnights):
        count = -((begin - end) // step)
        # As many ones as the day has steps, each so many bits after the last.
        steps = ((1 << count * apart) - 1) // ((1 << apart) - 1)
        starts |= steps << (begin - first) // unit
    return TeamGrid(first, unit, (midnights[-1] - first) // unit, starts)
