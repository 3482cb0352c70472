"""Spans of whole seconds, half open and in order: merge them, take some from others, pick starts in them."""

from collections.abc import Iterable

Span = tuple[int, int]


def merge(spans: Iterable[tuple[int, ...]]) -> list[Span]:
    """Join the spans that touch or overlap, and put all in order; what follows start and end is left out."""
    ordered = sorted(spans)
    if not ordered:
        return []
    merged: list[Span] = []
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


def subtract(spans: Iterable[Span], holes: list[Span]) -> list[Span]:
    """Leave of the spans what no hole covers; both must be merged."""
    left: list[Span] = []
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


def pick_starts(stretches: Iterable[Span], spans: list[Span], *, step: int) -> list[int]:
    """List the starts inside the spans, each stretch counting its own steps from its beginning."""
    starts: list[int] = []
    at = 0
    for anchor, until in stretches:
        at = _skip(spans, at, before=anchor)
        index = at
        while index < len(spans) and spans[index][0] < until:
            begin, end = spans[index]
            skipped = max(begin - anchor + step - 1, 0) // step
            starts.extend(range(anchor + skipped * step, min(end, until), step))
            index += 1
    return starts


def _skip(spans: list[Span], at: int, *, before: int) -> int:
    while at < len(spans) and spans[at][1] <= before:
        at += 1
    return at
