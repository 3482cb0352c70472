"""UUIDv7: ids that sort by the time they were made."""

import os
import time
from uuid import UUID

from openslot.core.errors import NotFound


def new_id() -> UUID:
    """Make an id of 48 bits of milliseconds and 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def parse_id(text: str) -> UUID:
    """Read an id from a path; what is no id names nothing."""
    if len(text) != 36:
        raise NotFound
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None
