"""Limits for every value from outside, whatever its type allows: what can't be stored or calculated with is refused."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from math import isfinite

from msgspec import Struct

from openslot.core.text import NOT_ALLOWED, is_prose
from openslot.core.zones import FIRST_YEAR, LAST_YEAR
from openslot.i18n import Text

FIRST = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
# The range of a bigint; larger numbers are refused by the driver, not by the database.
SMALLEST, LARGEST = -(2**63), 2**63 - 1

OUT_OF_TIME = Text("must be between %(first)s and %(last)s", first=FIRST_YEAR, last=LAST_YEAR)
OUT_OF_RANGE = Text("is a number out of range")
NO_OFFSET = Text("must have an offset, such as Z")

Fault = tuple[str, str]


def find_unfit(value: object, path: str = "") -> Iterator[Fault]:
    """Yield a fault for every text, number and time inside a value that can't be stored or calculated with."""
    if isinstance(value, str):
        if not is_prose(value):
            yield path, NOT_ALLOWED
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
    """Join a dotted path and a name."""
    return f"{path}.{name}" if path else name


def shown(name: str) -> str:
    """Escape and shorten a name that the caller has chosen, so that it can be sent back."""
    short = name if len(name) <= 100 else name[:100] + "…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def _fault_of_scalar(value: object) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return NO_OFFSET
        return None if FIRST <= value < END else OUT_OF_TIME
    if isinstance(value, date):
        return None if FIRST_YEAR <= value.year <= LAST_YEAR else OUT_OF_TIME
    if isinstance(value, int):
        return None if SMALLEST <= value <= LARGEST else OUT_OF_RANGE
    if isinstance(value, float):
        return None if isfinite(value) else OUT_OF_RANGE
    return None
