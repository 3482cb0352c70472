"""A worker process with a probe attached: writes every note into a table, slowly enough to be killed at it."""

import asyncio
import os
import signal
from pathlib import Path

from openslot.platform.core.environment import load_settings
from openslot.platform.core.events import Effect
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Done, Outcome, Work
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from tests.platform.jobs.probes import Poked, wired


async def write(work: Work, effect: Effect) -> Outcome:
    """Say that it began, take a moment, or the first time for ever, and write the note together with being done.

    A note that is a path waits until there is such a file.
    """
    note = effect.event(Poked).note
    await work.db.execute("insert into began (note) values ($1)", note)
    await asyncio.sleep(3600 if note == "stuck" and effect.attempts == 1 else 0.05)
    while note.startswith("/") and not os.path.exists(note):
        await asyncio.sleep(0.05)

    async def keep(work: Work) -> None:
        await work.db.execute("insert into notes (note, effect_id) values ($1, $2)", note, effect.id)

    return Done(write=keep)


def run(url: str, data_dir: str, log_level: str = "error") -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir, log_level))


async def _work(url: str, data_dir: str, log_level: str) -> None:
    settings = load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": log_level}, environ={})
    set_up_logging(settings)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_runtime(settings, wiring=wired(write, in_lanes=True)) as runtime:
        await run_worker(runtime, stop)
