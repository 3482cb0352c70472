"""What no value from outside may be, whatever its type says: the floor under every body and query."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from math import isfinite

from msgspec import Struct

from openslot.core.text import is_prose
from openslot.core.zones import FIRST_YEAR, LAST_YEAR

FIRST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
# What a bigint holds; a larger one is refused by the driver, not by the database.
SMALLEST, LARGEST = -(2**63), 2**63 - 1

OUT_OF_TIME = f"must lie between {FIRST_YEAR} and {LAST_YEAR}"

Fault = tuple[str, str]


def find_unfit(value: object, path: str = "") -> Iterator[Fault]:
    """Name every text, number and time inside a value that can be neither stored nor reckoned with."""
    if isinstance(value, str):
        if not is_prose(value):
            yield path, "has characters that are not allowed"
    elif isinstance(value, Struct):
        for name, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            yield from find_unfit(getattr(value, name), join(path, encoded))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from find_unfit(key, join(path, shown(str(key))))
            yield from find_unfit(inner, join(path, shown(str(key))))
    elif isinstance(value, list | tuple | set | frozenset):
        for place, inner in enumerate(value):
            yield from find_unfit(inner, join(path, str(place)))
    elif (fault := _fault_of_scalar(value)) is not None:
        yield path, fault


def join(path: str, name: str) -> str:
    """Write a dotted path."""
    return f"{path}.{name}" if path else name


def shown(name: str) -> str:
    """Write a name that the caller has chosen, safe and short enough to be sent back."""
    short = name if len(name) <= 100 else name[:100] + "…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def _fault_of_scalar(value: object) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return "must carry an offset, such as Z"
        return None if FIRST <= value < END else OUT_OF_TIME
    if isinstance(value, date):
        return None if FIRST_YEAR <= value.year <= LAST_YEAR else OUT_OF_TIME
    if isinstance(value, int):
        return None if SMALLEST <= value <= LARGEST else "is a number out of range"
    if isinstance(value, float):
        return None if isfinite(value) else "is a number out of range"
    return None
