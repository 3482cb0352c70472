"""Spans of whole seconds, half open and in order: merge them, take some from others, pick the starts between them."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain

from openslot.core.times import FOREVER

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


def _skip(spans: Sequence[tuple[int, ...]], at: int, *, before: int) -> int:
    while at < len(spans) and spans[at][1] <= before:
        at += 1
    return at
