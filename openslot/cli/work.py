"""One worker process."""

import asyncio
from functools import partial

from openslot.cli.environment import choose, settings
from openslot.cli.running import with_runtime
from openslot.cli.signals import ENDINGS, leave_on_signals
from openslot.core.events import Wiring
from openslot.core.upgrade import bring_up_to_date
from openslot.core.work import Runtime
from openslot.jobs.worker import run_worker
from openslot.wiring import WIRING

# Nobody waits for a job's answer: a busy minute must not look like a failed try.
SHORTEST_WAIT_SECONDS = 60


def work(wiring: Wiring = WIRING) -> None:
    """Work until told to stop; what is under way is finished first."""
    leave_on_signals(0)
    choose(database_wait_seconds=max(settings().database_wait_seconds, SHORTEST_WAIT_SECONDS))
    with_runtime(_work, prepare=partial(bring_up_to_date, known=wiring.migrations), wiring=wiring)


async def _work(runtime: Runtime) -> None:
    stop = asyncio.Event()
    for ending in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    await run_worker(runtime, stop)
