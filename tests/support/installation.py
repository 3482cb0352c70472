"""An installation of its own for a test: a data directory, a free port, and commands as an operator types them."""

import atexit
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx2
import psutil
import pytest
from typer.testing import CliRunner

from openslot.cli.commands import app
from tests.support.forked import Forked, openslot
from tests.support.ports import hold_port

READY_WITHIN = 60.0
END_WITHIN = 50.0


class Command(Forked):
    """A command that writes to files: nobody has to read along to keep it going."""

    def __init__(
        self, run: Callable[..., object], arguments: tuple[str, ...], environment: dict[str, str], place: Path
    ) -> None:
        place = Path(mkdtemp(dir=place))
        self._out, self._err = place / "out", place / "err"
        super().__init__(run, *arguments, environment=environment, cwd="/", out=self._out, err=self._err)

    def err_so_far(self) -> str:
        """Tell what it has written to standard error by now."""
        return self._err.read_text() if self._err.exists() else ""

    def said(self) -> tuple[str, str]:
        """Tell what it has written."""
        return self._out.read_text(), self._err.read_text()


class Installation:
    """One data directory, and everything that runs on it."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self._held = hold_port()
        self.port = int(self._held.getsockname()[1])
        ours = ("OPENSLOT_", "DATABASE_URL", "PG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment = {
            **kept,
            "OPENSLOT_DATA_DIR": str(data_dir),
            "OPENSLOT_PORT": str(self.port),
            "OPENSLOT_LOG_LEVEL": "warning",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])),
            **compiled_code(),
            **environment,
        }
        self._started: list[Command] = []
        self._said = Path(mkdtemp(prefix="openslot-test-said-"))

    @property
    def base_url(self) -> str:
        """Where the service answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *arguments: str) -> Command:
        """Start a command in a foreground process group of its own, as a shell does."""
        return self._start(openslot, arguments)

    def start_function(self, run: Callable[[], object]) -> Command:
        """Start a function as `start` does a command."""
        return self._start(run, ())

    def start_interpreter(self, *arguments: str) -> Command:
        """Start a command as `start` does, in an interpreter that has nothing loaded."""
        return self._start(new_interpreter, arguments)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command to its end; tell its code and what it said."""
        return ended(self.start(*arguments))

    def told(self, *arguments: str) -> Any:
        """Run a command for its JSON."""
        code, out, err = self.run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    def told_here(self, *arguments: str) -> Any:
        """Run a command for its JSON without a process of its own, where that is not what a test is about."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.data_dir)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """Ask the service on a connection of its own, by a client that reads neither certificates nor proxies."""
        with httpx2.Client(base_url=self.base_url, verify=False, trust_env=False, timeout=30) as client:
            return client.get(path, headers=headers)

    def wait_until_ready(self, path: str = "/readyz", within: float = READY_WITHIN) -> None:
        """Wait until database, migrations and a worker are there."""
        deadline = time.monotonic() + within
        answer = None
        while time.monotonic() < deadline:
            assert self._started[-1].poll() is None, self._started[-1].said()
            try:
                answer = self.get(path)
                if answer.status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"not ready: {answer.text if answer else 'no answer'}")

    def processes(self) -> list[psutil.Process]:
        """Every process of this installation: ours by environment or standard error, PostgreSQL's by arguments."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                    continue
                is_ours = process.environ().get("OPENSLOT_DATA_DIR") == str(self.data_dir)
                # The environment of a fork can't be seen from outside, but where it writes to can.
                is_ours = is_ours or os.readlink(f"/proc/{process.pid}/fd/2").startswith(str(self._said))
                if is_ours or str(self.data_dir / "postgres") in process.cmdline():
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
                continue
        return found

    def command_lines(self) -> list[list[str]]:
        """Tell how each of these processes was started, without those that end in the meantime."""
        found = []
        for process in self.processes():
            with suppress(psutil.Error):
                found.append(process.cmdline())
        return found

    def names(self) -> set[str]:
        """Tell what these processes are called, without those that end in the meantime."""
        found = set()
        for process in self.processes():
            with suppress(psutil.Error):
                found.add(process.name())
        return found

    def postmaster(self) -> int:
        """Tell the embedded server's pid."""
        return int((self.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])

    def wait_until_gone(self, within: float = END_WITHIN) -> None:
        """Wait until no process is left."""
        deadline = time.monotonic() + within
        while self.processes():
            assert time.monotonic() < deadline, self.command_lines()
            time.sleep(0.05)

    def kill_all(self) -> None:
        """Kill every process, also where one is ending by itself, and wait until it is gone."""
        found = self.processes()
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if found:
            self.wait_until_gone()

    def clean_up(self) -> None:
        """Kill whatever a failed test has left."""
        self.kill_all()
        for command in self._started:
            command.kill()
            command.wait()
        shutil.rmtree(self._said)
        self._held.close()

    def _start(self, run: Callable[..., object], arguments: tuple[str, ...]) -> Command:
        command = Command(run, arguments, self.environment, self._said)
        self._started.append(command)
        return command


@contextmanager
def installed(data_dir: Path, **environment: str) -> Iterator[Installation]:
    """Lend an installation, and leave no process behind."""
    installation = Installation(data_dir, **environment)
    try:
        yield installation
    finally:
        installation.clean_up()


def new_interpreter(*arguments: str) -> None:
    """Do what `python -m openslot` does with these arguments, for somebody who can close the terminal."""
    # Tests that run under nohup ignore that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "openslot", *arguments])


def interrupt(process: Command) -> None:
    """Press Ctrl-C: the signal goes to the whole foreground process group."""
    os.killpg(process.pid, signal.SIGINT)


def ended(process: Command) -> tuple[int, str, str]:
    """Wait for a process's end and tell its code and what it said."""
    return process.wait(END_WITHIN), *process.said()


@cache
def compiled_code() -> dict[str, str]:
    """Let all commands of one run share their compiled code where nothing may be written beside the sources."""
    if "PYTHONDONTWRITEBYTECODE" not in os.environ:
        return {}
    place = mkdtemp(prefix="openslot-test-code-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": place}
