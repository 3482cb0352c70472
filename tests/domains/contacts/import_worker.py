"""A worker process that imports contacts in small batches, and may die at one of them."""

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Literal
from uuid import UUID

from msgspec.structs import replace

from openslot.domains.contacts import reactions
from openslot.domains.contacts.imports import operations as imports
from openslot.domains.contacts.reactions import import_next_lines
from openslot.platform.core import effects
from openslot.platform.core.environment import load_settings
from openslot.platform.core.events import Effect
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Outcome, Reaction, Work
from openslot.platform.jobs import worker
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from openslot.wiring import WIRING

BATCH = 20
BATCHES_BEFORE_DEATH = 2

Death = Literal["before the commit", "after the commit", "never"]


class Mortal:
    """Imports as the product does, and dies at the last of a few batches."""

    def __init__(self, death: Death) -> None:
        self._death = death
        self._batches = 0
        self._import_batch = imports.import_batch

    async def import_batch(self, work: Work, import_id: UUID) -> bool:
        """Import a batch; what a dying process has written is not committed."""
        is_more = await self._import_batch(work, import_id)
        self._batches += 1
        self._die("before the commit")
        return is_more

    async def import_next_lines(self, work: Work, effect: Effect) -> Outcome:
        """Import a batch and plan the next one; a dying process has committed the batch, but not its effect."""
        outcome = await import_next_lines(work, effect)
        self._die("after the commit")
        return outcome

    def _die(self, moment: Death) -> None:
        if self._death == moment and self._batches > BATCHES_BEFORE_DEATH:
            os.kill(os.getpid(), signal.SIGKILL)


def run(url: str, data_dir: str, death: Death) -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir, Mortal(death)))


async def _work(url: str, data_dir: str, mortal: Mortal) -> None:
    settings = load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": "error"}, environ={})
    set_up_logging(settings)
    imports.BATCH = BATCH
    reactions.import_batch = mortal.import_batch  # type: ignore[attr-defined]
    effects.ABANDONED_AFTER, worker.BEAT_EVERY = timedelta(seconds=3), timedelta(seconds=0.5)
    mortal_one = Reaction(name=imports.CONTACT_IMPORT, run=mortal.import_next_lines)
    others = tuple(each for each in WIRING.reactions if each.name != imports.CONTACT_IMPORT)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_runtime(settings, wiring=replace(WIRING, reactions=(mortal_one, *others))) as runtime:
        await run_worker(runtime, stop)
