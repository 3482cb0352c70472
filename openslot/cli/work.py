"""One worker process."""

import asyncio

from openslot.cli.running import with_house
from openslot.cli.signals import ENDINGS, leave_on_signals
from openslot.core.work import House
from openslot.jobs.worker import run_worker


def work() -> None:
    """Work until told to stop; what is under way is finished first."""
    leave_on_signals(0)
    with_house(_work)


async def _work(house: House) -> None:
    stop = asyncio.Event()
    for ending in ENDINGS:
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    await run_worker(house, stop)
