"""worker --heartbeat: a file by which a probe sees that a worker that has no port still responds."""

import asyncio
import os
import time
from pathlib import Path

from openslot.processes.worker import touching
from tests.support.installation import Installation, installed
from tests.support.wait import wait_until


async def test_the_file_is_touched_while_the_event_loop_runs_and_not_while_it_hangs(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"

    async with touching(file, every=0.01):
        await asyncio.sleep(0.05)
        os.utime(file, (0, 0))
        time.sleep(0.05)  # noqa: ASYNC251 - what a worker that hangs does
        assert file.stat().st_mtime == 0
        await asyncio.sleep(0.05)
        assert file.stat().st_mtime > 0
    os.utime(file, (0, 0))
    await asyncio.sleep(0.05)
    assert file.stat().st_mtime == 0


async def test_a_file_that_can_not_be_written_does_not_stop_the_worker(tmp_path: Path) -> None:
    folder = tmp_path / "later"

    async with touching(folder / "heartbeat", every=0.01):
        await asyncio.sleep(0.05)
        folder.mkdir()
        await asyncio.sleep(0.05)
        assert (folder / "heartbeat").exists()


def test_a_worker_touches_the_file_once_it_runs(home: Installation, tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    worker = home.start("worker", "--heartbeat", str(file))

    wait_until(file.exists)
    worker.terminate()
    assert worker.wait(60) == 0


def test_a_start_that_takes_long_is_not_judged_by_the_file_of_the_last_one(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    file.touch()
    # Nothing answers there, so the start ends before the worker runs.
    with installed(tmp_path, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing") as nowhere:
        code, _, _ = nowhere.run("worker", "--heartbeat", str(file))
    assert code == 1
    assert not file.exists()
