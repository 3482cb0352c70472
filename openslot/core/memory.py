"""Memory: how much of it the embedded database may use for its page cache."""

from pathlib import Path

import psutil

# An eighth, so that a small machine has room for everything else. The kernel caches files too: with 100,000 bookings a
# larger cache of our own makes no difference that can be measured, and it never gives its memory back.
SHARE = 8
SMALLEST, LARGEST = 64, 128
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def page_cache_megabytes(total: int | None = None) -> int:
    """Choose the size of the database's page cache by the available memory."""
    megabytes = (total if total is not None else _total()) // SHARE // 1024**2
    return min(max(megabytes, SMALLEST), LARGEST)


def _total() -> int:
    """Return the machine's memory, or the container's limit if that is lower."""
    machine = psutil.virtual_memory().total
    try:
        limit = CONTAINER_LIMIT.read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdecimal() else machine
