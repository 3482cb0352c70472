"""One worker process."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import uvloop

from openslot.platform.core.migrate import bring_up_to_date
from openslot.platform.core.profiles import JOBS
from openslot.platform.core.work import Runtime, Wiring
from openslot.platform.jobs.worker import run_worker
from openslot.processes.exits import ENDINGS, leave_on_signals
from openslot.processes.inheritance import beating
from openslot.processes.runtimes import with_runtime
from openslot.wiring import WIRING

# People wait for requests: on a busy machine the worker gets what they leave.
NICENESS = 5
TOUCH_EVERY = 5.0


def work(wiring: Wiring = WIRING, *, heartbeat: Path | None = None) -> None:
    """Run a worker until told to stop; jobs in progress are finished first."""
    leave_on_signals(0)
    os.nice(NICENESS)
    if heartbeat is not None:
        # A slow start is not a hang, so a file of the last start must not be taken for one of this.
        heartbeat.unlink(missing_ok=True)
    prepare = partial(bring_up_to_date, known=wiring.migrations)
    run = partial(_work, heartbeat=heartbeat)
    with_runtime(run, prepare=prepare, wiring=wiring, profile=JOBS, new_loop=uvloop.new_event_loop)


async def _work(runtime: Runtime, *, heartbeat: Path | None) -> None:
    stop = asyncio.Event()
    for ending in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    async with beating(), touching(heartbeat):
        await run_worker(runtime, stop)


@asynccontextmanager
async def touching(file: Path | None, *, every: float = TOUCH_EVERY) -> AsyncIterator[None]:
    """Touch a file while the event loop is running, whether or not the database can be reached."""
    if file is None:
        yield
        return
    task = asyncio.create_task(_keep_touching(file, every))
    try:
        yield
    finally:
        task.cancel()


async def _keep_touching(file: Path, every: float) -> None:
    while True:
        _touch(file)
        await asyncio.sleep(every)


def _touch(file: Path) -> None:
    # On a full disk an existing file can still be touched.
    with suppress(OSError):
        file.touch()
