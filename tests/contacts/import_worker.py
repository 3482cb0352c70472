"""A worker process that imports contacts in small batches, slowly enough to be killed at it."""

import asyncio
import signal
from pathlib import Path

from msgspec.structs import replace

from openslot.contacts import imports
from openslot.contacts.reactions import import_next_lines
from openslot.core.config import load_settings
from openslot.core.events import Effect, Outcome, Reaction
from openslot.core.log import set_up_logging
from openslot.core.work import Work
from openslot.jobs.worker import run_worker
from openslot.runtime import open_runtime
from openslot.wiring import WIRING

BATCH = 20


async def import_slowly(work: Work, effect: Effect) -> Outcome:
    """Take a moment between what is committed and the end of the effect."""
    outcome = await import_next_lines(work, effect)
    await asyncio.sleep(0.05)
    return outcome


def run(url: str, data_dir: str) -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir))


async def _work(url: str, data_dir: str) -> None:
    settings = load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": "error"}, environ={})
    set_up_logging(settings)
    imports.BATCH = BATCH
    slow = Reaction(name=imports.IMPORT, run=import_slowly)
    others = tuple(each for each in WIRING.reactions if each.name != imports.IMPORT)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_runtime(settings, wiring=replace(WIRING, reactions=(slow, *others))) as runtime:
        await run_worker(runtime, stop)
