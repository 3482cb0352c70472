"""Waiting for what becomes true in its own time."""

import asyncio
import time
from collections.abc import Callable


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what a process does in its own time."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


async def until(condition: Callable[[], bool], *, within: float) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it has not happened in time"
        await asyncio.sleep(0.05)
