"""Spans: merged, subtracted, and starts picked in them, against sets of seconds."""

from itertools import pairwise
from random import Random

import pytest

from openslot.domains.availability.grid import Interval, invert, merge, pick_starts, subtract
from openslot.platform.core.times import FOREVER

CASES = 300


@pytest.fixture
def chance() -> Random:
    """The same chances in each run."""
    return Random(7)


def draw_spans(chance: Random) -> list[Interval]:
    starts = [chance.randint(0, 60) for _ in range(chance.randint(0, 8))]
    return [(start, start + chance.randint(1, 12)) for start in starts]


def seconds(some: list[Interval]) -> set[int]:
    return {second for start, end in some for second in range(start, end)}


def test_nothing_gives_nothing() -> None:
    assert merge([]) == []
    assert subtract([], [(0, 5)]) == []
    assert pick_starts([], [(0, 5)], step=1) == []
    assert invert([]) == [(-FOREVER, FOREVER)]


def test_merged_spans_are_apart_and_cover_the_same(chance: Random) -> None:
    for _ in range(CASES):
        some = draw_spans(chance)
        merged = merge(some)
        assert seconds(merged) == seconds(some)
        assert all(before[1] < after[0] for before, after in pairwise(merged))


def test_what_is_left_is_in_no_hole(chance: Random) -> None:
    for _ in range(CASES):
        some, holes = draw_spans(chance), draw_spans(chance)
        assert seconds(subtract(merge(some), merge(holes))) == seconds(some) - seconds(holes)


def test_what_is_inverted_is_all_the_rest(chance: Random) -> None:
    for _ in range(CASES):
        merged = merge(draw_spans(chance))
        assert invert(merged) == subtract([(-FOREVER, FOREVER)], merged)


def test_starts_are_steps_of_their_stretch_outside_what_is_closed(chance: Random) -> None:
    for _ in range(CASES):
        stretches, closed, step = merge(draw_spans(chance)), draw_spans(chance), chance.randint(1, 7)
        shut = seconds(closed)
        expected = [at for start, end in stretches for at in range(start, end, step) if at not in shut]
        assert pick_starts(stretches, sorted(closed), step=step) == expected
