"""One worker process."""

import asyncio
import os
from functools import partial

import uvloop

from openslot.core.migrate import bring_up_to_date
from openslot.core.profiles import JOBS
from openslot.core.work import Runtime, Wiring
from openslot.jobs.worker import run_worker
from openslot.processes.exits import ENDINGS, leave_on_signals
from openslot.processes.inheritance import beating
from openslot.processes.runtimes import with_runtime
from openslot.wiring import WIRING

# People wait for requests: on a busy machine the worker gets what they leave.
NICENESS = 5


def work(wiring: Wiring = WIRING) -> None:
    """Run a worker until told to stop; jobs in progress are finished first."""
    leave_on_signals(0)
    os.nice(NICENESS)
    prepare = partial(bring_up_to_date, known=wiring.migrations)
    with_runtime(_work, prepare=prepare, wiring=wiring, profile=JOBS, new_loop=uvloop.new_event_loop)


async def _work(runtime: Runtime) -> None:
    stop = asyncio.Event()
    for ending in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    async with beating():
        await run_worker(runtime, stop)
