"""Processes that are forked from one in which Openslot is loaded: loading takes most of a command's processor time."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pytest

from openslot.cli import main

ROOT = Path(__file__).parents[2]


class Forked:
    """A process of its own, with as much of `subprocess.Popen` as tests need."""

    def __init__(
        self,
        run: Callable[..., object],
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        cwd: Path | str = ROOT,
        out: Path | None = None,
        err: Path | None = None,
    ) -> None:
        environment = dict(os.environ if environment is None else environment)
        self._process = _context().Process(
            target=_begin, args=(run, arguments, environment, str(cwd), out, err), daemon=True
        )
        self._process.start()
        self.pid = int(self._process.pid)

    def poll(self) -> int | None:
        """Tell its exit code if it has ended."""
        code: int | None = self._process.exitcode
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and tell its exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def terminate(self) -> None:
        """Ask it to end."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it without warning."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            # It may end meanwhile: the server that forked it has waited for it by then.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def openslot(*arguments: str) -> None:
    """Do what `openslot` does with these arguments."""
    sys.argv = ["openslot", *arguments]
    main()


def _begin(
    run: Callable[..., object],
    arguments: tuple[str, ...],
    environment: dict[str, str],
    cwd: str,
    out: Path | None,
    err: Path | None,
) -> None:
    os.setsid()
    # `serve` forks processes of its own, which a daemon may not do.
    multiprocessing.current_process().daemon = False
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, path in ((1, out), (2, err)):
        if path is not None:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
            os.close(file)
    run(*arguments)


@cache
def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.forked_from"])
    with pytest.MonkeyPatch.context() as patch:
        # It looks for modules in its working directory.
        patch.chdir(ROOT)
        forkserver.ensure_running()
    return context
