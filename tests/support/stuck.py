"""Where a test waits that does not end: what every thread does, and what every task awaits."""

import asyncio
import gc
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any


def tell_where_it_waits() -> str:
    """Write down the stack of each thread and of each unfinished task."""
    names = {each.ident: each.name for each in threading.enumerate()}
    said = []
    for ident, frame in sys._current_frames().items():
        said += [
            f"Thread {names.get(ident, ident)}:",
            *_lines(reversed([each for each, _ in traceback.walk_stack(frame)])),
        ]
    for task in gc.get_objects():
        if isinstance(task, asyncio.Task) and not task.done():
            said += [f"Task {task.get_name()}:", *_lines(_awaited(task.get_coro()))]
    return "\n".join(said)


def _awaited(coroutine: Any) -> Iterator[FrameType]:
    """Yield the frame of a coroutine, of what it awaits, and so on until the one that waits."""
    while frame := getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None):
        yield frame
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)


def _lines(frames: Iterable[FrameType]) -> list[str]:
    return [f"  {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}" for frame in frames]
