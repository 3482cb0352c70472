"""worker --heartbeat: a file by which a probe sees that a worker that has no port still responds."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from openslot.processes.worker import touching
from tests.support.installation import Installation
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


def test_a_worker_replaces_the_file_of_its_last_start(home: Installation, tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    file.touch()
    os.utime(file, (0, 0))
    worker = home.start("worker", "--heartbeat", str(file))

    wait_until(lambda: not file.exists() or file.stat().st_mtime > 0)
    wait_until(lambda: file.exists() and file.stat().st_mtime > 0)
    worker.terminate()
    assert worker.wait(60) == 0


def test_without_the_option_no_file_is_touched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def run() -> None:
        async with touching(None, every=0.01):
            await asyncio.sleep(0.03)

    monkeypatch.chdir(tmp_path)
    asyncio.run(run())
    assert not list(tmp_path.iterdir())
