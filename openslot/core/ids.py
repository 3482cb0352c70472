"""UUIDv7: ids that sort by the time they were made."""

import os
import re
import time
from uuid import UUID

from openslot.core.errors import NotFound

# `UUID()` also accepts braces, `urn:uuid:`, missing hyphens and underscores: one resource would have many URLs.
SHAPE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id() -> UUID:
    """Make an id from the time, to a 4096th of a millisecond, and 62 random bits."""
    return UUID(int=_new_value())


def new_id_text() -> str:
    """Make an id as text, several times faster than making a UUID and formatting it."""
    digits = f"{_new_value():032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _new_value() -> int:
    """Make the number of an id as RFC 9562 lays it out (section 6.2, method 3).

    Ids that are made after each other sort so, also within one millisecond: what is listed by id is in order.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    random = int.from_bytes(os.urandom(8)) >> 2
    return milliseconds << 80 | 0x7 << 76 | (rest << 12) // 1_000_000 << 64 | 0x2 << 62 | random


def parse_id(text: str) -> UUID:
    """Parse an id from a path; raise `NotFound` if it is not one."""
    if SHAPE.fullmatch(text) is None:
        raise NotFound
    return UUID(text)
