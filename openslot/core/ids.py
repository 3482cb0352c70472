"""UUIDv7: ids that sort by the time they were made."""

import os
import re
import time
from uuid import UUID

from openslot.core.errors import NotFound

# `UUID()` itself also reads braces, `urn:uuid:`, missing hyphens and underscores: one thing would have many addresses.
SHAPE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def new_id() -> UUID:
    """Make an id of 48 bits of milliseconds and 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def parse_id(text: str) -> UUID:
    """Read an id from a path; what is no id names nothing."""
    if SHAPE.fullmatch(text) is None:
        raise NotFound
    return UUID(text)
