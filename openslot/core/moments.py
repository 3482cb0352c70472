"""From when to when: the `from` and `to` of a list's query."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeGuard

from litestar.params import QueryParameter
from msgspec import Struct

from openslot.core.errors import Invalid
from openslot.core.zones import FIRST_YEAR, LAST_YEAR

# A plus that nobody encoded arrives as a space.
MOMENT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?([Zz]|[+\- ][0-9]{2}:[0-9]{2})?)?$"
)

_MOMENT = re.compile(MOMENT.removesuffix("$"))
_DAY = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)


class Moment(str):
    """A date or a date-time in a query, known to be one."""

    __slots__ = ()


class Span(Struct, frozen=True):
    """The time that a list is asked about; None is without end."""

    starts_at: datetime | None = None
    ends_before: datetime | None = None


_WORDS = "ISO 8601 date or date-time, UTC unless it has an offset"
_SCHEMA = {
    "type": "string",
    "one_of": None,
    "pattern": MOMENT,
    "examples": ["2026-03-16", "2026-03-16T09:00:00Z"],
}

From = Annotated[
    Moment | None,
    QueryParameter(name="from", description=f"The earliest: {_WORDS}", schema_extra=_SCHEMA),
]
To = Annotated[
    Moment | None,
    QueryParameter(
        name="to",
        description=f"The latest, included, and the whole day where it is a date: {_WORDS}",
        schema_extra=_SCHEMA,
    ),
]


def read_span(from_: str | None, to: str | None) -> Span:
    """Read `from` and `to`, or refuse them with every fault."""
    faults: dict[str, str] = {}
    starts_at = ends_before = None
    try:
        starts_at = _read_start(from_) if from_ is not None else None
    except ValueError as fault:
        faults["from"] = str(fault)
    try:
        ends_before = _read_end(to) if to is not None else None
    except ValueError as fault:
        faults["to"] = str(fault)
    if starts_at and ends_before and starts_at >= ends_before:
        faults["to"] = "must not be before from"
    if faults:
        raise Invalid(details=faults)
    return Span(starts_at, ends_before)


def _is_moment(kind: object) -> TypeGuard[type[Moment]]:
    return kind is Moment


def _check_moment(_: object, text: str) -> Moment:
    _read_start(text)
    return Moment(text)


# For a handler's `type_decoders`: a wrong moment is then named together with every other wrong parameter.
MOMENTS = (_is_moment, _check_moment)


def _read_start(text: str) -> datetime:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("must be a date or a date-time, such as 2026-03-16 or 2026-03-16T09:00:00Z")
    if not FIRST_YEAR <= int(text[:4]) <= LAST_YEAR:
        raise ValueError(f"must lie in the years {FIRST_YEAR} to {LAST_YEAR}")
    try:
        read = datetime.fromisoformat(text.upper().replace(" ", "+"))
    except ValueError:
        raise ValueError("is a date or time that does not exist") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


def _read_end(text: str) -> datetime:
    last = _read_start(text)
    if len(text) == len("2026-03-16"):
        return last + _DAY
    # Answers show milliseconds, so what is shown as this very moment belongs to it.
    return last.replace(microsecond=last.microsecond // 1000 * 1000) + _MILLISECOND
