"""Spans: merged, subtracted, and starts picked in them, against sets of seconds."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from openslot.availability.intervals import Span, invert, merge, pick_starts, subtract
from openslot.core.zones import FOREVER

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)).map(lambda s: (s[0], s[0] + s[1])), max_size=8)


def seconds(some: list[Span]) -> set[int]:
    return {second for start, end in some for second in range(start, end)}


def test_nothing_gives_nothing() -> None:
    assert merge([]) == []
    assert subtract([], [(0, 5)]) == []
    assert pick_starts([], [(0, 5)], step=1) == []
    assert invert([]) == [(-FOREVER, FOREVER)]


@given(spans)
@settings(max_examples=200, database=None, derandomize=True)
def test_merged_spans_are_apart_and_cover_the_same(some: list[Span]) -> None:
    merged = merge(some)
    assert seconds(merged) == seconds(some)
    assert all(before[1] < after[0] for before, after in pairwise(merged))


@given(spans, spans)
@settings(max_examples=200, database=None, derandomize=True)
def test_what_is_left_is_in_no_hole(some: list[Span], holes: list[Span]) -> None:
    assert seconds(subtract(merge(some), merge(holes))) == seconds(some) - seconds(holes)


@given(spans)
@settings(max_examples=200, database=None, derandomize=True)
def test_what_is_inverted_is_all_the_rest(some: list[Span]) -> None:
    merged = merge(some)
    assert invert(merged) == subtract([(-FOREVER, FOREVER)], merged)


@given(spans, spans, st.integers(1, 7))
@settings(max_examples=200, database=None, derandomize=True)
def test_starts_are_steps_of_their_stretch_outside_what_is_closed(
    some: list[Span], closed: list[Span], step: int
) -> None:
    stretches = merge(some)
    expected = [at for start, end in stretches for at in range(start, end, step) if at not in seconds(closed)]
    assert pick_starts(stretches, sorted(closed), step=step) == expected
