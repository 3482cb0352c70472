"""A worker in a process of its own, with settings that a test chooses, which is killed while a channel is stopped."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from openslot.platform.core.config import Settings
from openslot.platform.core.effects import ABANDONED_AFTER
from openslot.platform.core.environment import load_settings
from openslot.platform.core.log import set_up_logging
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import OutgoingChannel
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from openslot.wiring import WIRING
from tests.support.forked import Forked
from tests.support.switches import resume, status, stop

SOME = 20

Count = Callable[[], Awaitable[int]]


def work(url: str, data_dir: str, choose: Callable[[Settings], Settings]) -> None:
    """Work until a signal comes."""
    asyncio.run(_work(url, data_dir, choose))


async def _work(url: str, data_dir: str, choose: Callable[[Settings], Settings]) -> None:
    settings = choose(
        load_settings({"database_url": url, "data_dir": Path(data_dir), "log_level": "error"}, environ={})
    )
    set_up_logging(settings)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with open_runtime(settings, wiring=replace(WIRING, periodic=())) as runtime:
        await run_worker(runtime, stopped)


async def settle(count: Count) -> int:
    """Wait until a number stays the same for a second."""
    before = -1
    async with asyncio.timeout(60):
        while (now := await count()) != before:
            before = now
            await asyncio.sleep(1)
    return before


def end(worker: Forked) -> None:
    worker.kill()
    worker.wait()


async def start_and_wait(start: Callable[[], Forked], count_sent: Count, at_least: int) -> Forked:
    """Start a worker, and wait until so many messages are sent."""
    worker = start()
    async with asyncio.timeout(60):
        while await count_sent() < at_least:
            await asyncio.sleep(0.01)
    return worker


async def stop_kill_and_resume(
    runtime: Runtime,
    channel: OutgoingChannel,
    *,
    start: Callable[[], Forked],
    count_sent: Count,
    count_unfinished: Count,
    when_stopped: Callable[[], Awaitable[None]],
    before_resuming: Callable[[], Awaitable[None]],
) -> int:
    """Stop a channel while a worker sends, kill that one and the next, and resume it; return how many have waited."""

    async def count_waiting() -> int:
        return (await status(runtime))[channel].waiting

    worker = await start_and_wait(start, count_sent, await count_sent() + SOME)
    await stop(runtime, channel)
    at_the_stop = await settle(count_sent)
    end(worker)
    await when_stopped()

    worker = start()
    await asyncio.sleep(ABANDONED_AFTER.total_seconds())
    held = await settle(count_waiting)
    end(worker)
    assert await count_sent() == at_the_stop
    await before_resuming()

    worker = start()
    await resume(runtime, channel)
    try:
        async with asyncio.timeout(120):
            while await count_unfinished():
                await asyncio.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait(60)
    return held
