"""UUIDv7: ids that sort by the time they were made."""

import os
import re
import time
from uuid import UUID

from openslot.core.errors import NotFound

# `UUID()` also accepts braces, `urn:uuid:`, missing hyphens and underscores: one resource would have many URLs.
SHAPE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


# The bits of version 7 and the variant, and the mask for all others.
MARKS = 0x7 << 76 | 0x2 << 62
FREE = ~(0xF << 76 | 0x3 << 62)


def new_id() -> UUID:
    """Make an id from 48 bits of milliseconds and 74 random bits."""
    return UUID(int=_new_value())


def new_id_text() -> str:
    """Make an id as text, several times faster than making a UUID and formatting it."""
    digits = f"{_new_value():032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _new_value() -> int:
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    return value & FREE | MARKS


def parse_id(text: str) -> UUID:
    """Parse an id from a path; raise `NotFound` if it is not one."""
    if SHAPE.fullmatch(text) is None:
        raise NotFound
    return UUID(text)
