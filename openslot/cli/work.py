"""One worker process."""

import asyncio

from openslot.cli.environment import choose, settings
from openslot.cli.running import with_house
from openslot.cli.signals import ENDINGS, leave_on_signals
from openslot.core.work import House
from openslot.jobs.worker import run_worker

# Nobody waits for a job's answer: a busy minute must not look like a failed try.
SHORTEST_WAIT_SECONDS = 60


def work() -> None:
    """Work until told to stop; what is under way is finished first."""
    leave_on_signals(0)
    choose(database_wait_seconds=max(settings().database_wait_seconds, SHORTEST_WAIT_SECONDS))
    with_house(_work)


async def _work(house: House) -> None:
    stop = asyncio.Event()
    for ending in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    await run_worker(house, stop)
