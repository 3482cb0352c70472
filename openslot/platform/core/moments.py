"""Moments and time ranges as people write them."""

import re
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from msgspec import Struct

from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import CheckedText
from openslot.platform.core.times import FIRST_YEAR, LAST_YEAR

# A plus sign that was not URL-encoded arrives as a space.
MOMENT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?([Zz]|[+\- ][0-9]{2}:[0-9]{2})?)?$"
)

_MOMENT = re.compile(MOMENT.removesuffix("$"))
_DAY = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)


class Moment(CheckedText):
    """A date, or a date-time that is UTC unless it has an offset."""

    __slots__ = ()

    schema: ClassVar[dict[str, object]] = {
        "type": "string",
        "pattern": MOMENT,
        "examples": ["2026-03-16", "2026-03-16T09:00:00Z"],
    }

    @classmethod
    def parse(cls, text: str) -> str:
        """Check that it is a moment, and keep it as written: a date alone means the whole day."""
        _read_start(text)
        return text


class Span(Struct, frozen=True):
    """The time range that a list is filtered by; None means unbounded."""

    starts_at: datetime | None = None
    ends_before: datetime | None = None


def read_span(from_: str | None, to: str | None) -> Span:
    """Read `from` and `to`, or raise a refusal with every error."""
    faults = find_span_faults(from_, to)
    if faults:
        raise Invalid(details=faults)
    return Span(
        _read_start(from_) if from_ is not None else None,
        _read_end(to) if to is not None else None,
    )


def find_span_faults(from_: str | None, to: str | None) -> dict[str, str]:
    """List what is wrong with `from` and `to`, each alone and both together."""
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
    return faults


def _read_start(text: str) -> datetime:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("must be a date or a date-time, such as 2026-03-16 or 2026-03-16T09:00:00Z")
    if not FIRST_YEAR <= int(text[:4]) <= LAST_YEAR:
        raise ValueError(f"must be between {FIRST_YEAR} and {LAST_YEAR}")
    try:
        read = datetime.fromisoformat(text.upper().replace(" ", "+"))
    except ValueError:
        raise ValueError("is a date or time that does not exist") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


def _read_end(text: str) -> datetime:
    last = _read_start(text)
    if len(text) == len("2026-03-16"):
        return last + _DAY
    # Responses show milliseconds, so the range includes everything that is shown as this moment.
    return last.replace(microsecond=last.microsecond // 1000 * 1000) + _MILLISECOND
