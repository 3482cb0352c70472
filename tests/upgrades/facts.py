"""Golden facts: what a release has written into the table of events, kept for every later one to read."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

KEPT = Path(__file__).parent / "facts"
# Their value decides how the rest is read.
TAGS = ("type", "kind", "status", "cancelled_by")


class GoldenFact(Struct, frozen=True, kw_only=True):
    """A fact as it was written, what was told of it, and by which release."""

    written_by: str
    fact: dict[str, Any]
    public: dict[str, Any] | None


def load_facts(event_type: str) -> list[GoldenFact]:
    """Read the golden facts of an event type."""
    path = KEPT / f"{event_type}.json"
    return msgspec.json.decode(path.read_bytes(), type=list[GoldenFact]) if path.exists() else []


def choose_facts(kept: list[GoldenFact], found: Iterable[GoldenFact]) -> list[GoldenFact]:
    """Keep what is kept, and add facts until every shape that was found is among them, the richest first."""
    chosen = list(kept)
    seen = {part for one in kept for part in find_shape(one.fact)}
    ordered = sorted(found, key=lambda one: (-len(set(find_shape(one.fact))), msgspec.json.encode(one.fact)))
    for one in ordered:
        shape = set(find_shape(one.fact))
        if not shape <= seen:
            chosen.append(one)
            seen |= shape
    return chosen


def find_shape(value: object, path: str = "") -> Iterator[str]:
    """List every path of a fact with the kind of what is there."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from find_shape(inner, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for inner in value:
            yield from find_shape(inner, f"{path}[]")
    else:
        yield f"{path} {value if path.endswith(TAGS) else type(value).__name__}"
