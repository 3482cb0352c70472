"""Releases as people have them: built from a commit, installed with the packages that it has locked, and run."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.support.ports import hold_port

ROOT = Path(__file__).parent.parent
OURS = ("OPENSLOT_", "DATABASE_URL", "PG", "PYTHONPATH")
ENDS_WITHIN = 60.0


class CannotBuild(Exception):
    """Why a release could not be built, and what to do."""


class Release(Struct, frozen=True):
    """A release that is installed: its name, and the Python that knows it."""

    name: str
    python: Path


def get_todays() -> Release:
    """Return what is in this directory."""
    return Release("new", Path(sys.executable))


def build_release(commit: str, place: Path) -> Release:
    """Build a wheel of a commit and install it with what the commit has locked."""
    wheel, venv = build_wheel_of(commit, place), place / "venv"
    uv = (sys.executable, "-m", "uv")
    _run(*uv, "venv", "--quiet", "--python", sys.executable, str(venv))
    python = venv / "bin" / "python"
    install = (*uv, "pip", "install", "--quiet", "--system-certs", "--python", str(python))
    _run(*install, "--require-hashes", "-r", str(place / "source/requirements/runtime.txt"))
    _run(*install, "--no-deps", str(wheel))
    return Release("old", python)


def build_wheel_of(commit: str, place: Path) -> Path:
    """Build a wheel of a commit, whose files are then in `source` beside it."""
    check_history(commit)
    source, archive = place / "source", place / "source.tar"
    place.mkdir()
    _run("git", "-C", str(ROOT), "archive", f"--output={archive}", commit)
    source.mkdir()
    _run("tar", "--extract", f"--file={archive}", f"--directory={source}")
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place), cwd=source)
    (wheel,) = place.glob("*.whl")
    return wheel


def check_history(commit: str) -> None:
    """Refuse a commit that this copy of the repository does not have."""
    known = ("git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}")
    if subprocess.run(known, check=False, capture_output=True).returncode != 0:
        raise CannotBuild(
            f"The last release is built from commit {commit}, which this copy of the repository does not have. "
            "A shallow clone gets it by: git fetch --unshallow"
        )


def _run(*command: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotBuild(f"{' '.join(command)} has failed:\n{done.stdout}{done.stderr}")


class Machine:
    """Where processes of any release run on one database; what they print is kept in files."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self._place = place
        self._environment = environment
        self._started: list[subprocess.Popen[bytes]] = []
        self._held = [hold_port() for _ in range(4)]
        self._ports = iter([each.getsockname()[1] for each in self._held])

    def run(self, release: Release, *arguments: str, given: str = "") -> Any:
        """Run a command for its JSON."""
        command = [str(release.python), "-m", "openslot", *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self._place, env=self._clean(), input=given, check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"openslot {' '.join(arguments)} of the {release.name} release: {done.stderr}")
        return json.loads(done.stdout)

    def start_web(self, release: Release) -> tuple[subprocess.Popen[bytes], int]:
        """Start a web process, and tell its port."""
        port = next(self._ports)
        return self._start(release, "web", "--port", str(port)), port

    def start_worker(self, release: Release) -> subprocess.Popen[bytes]:
        return self._start(release, "worker")

    def read_logs(self, release: str) -> str:
        """Read what all processes of a release have printed."""
        return "".join(path.read_text("utf-8") for path in sorted(self._place.glob(f"*-{release}-*.log")))

    def clean_up(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        for held in self._held:
            held.close()

    def _start(self, release: Release, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._place / f"{len(self._started)}-{release.name}-{arguments[0]}.log"
        command = [str(release.python), "-m", "openslot", *arguments]
        with log.open("wb") as file:
            process = subprocess.Popen(command, cwd=self._place, env=self._clean(), stdout=file, stderr=file)
        self._started.append(process)
        return process

    def _clean(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith(OURS)} | self._environment


@contextmanager
def machine(place: Path, environment: dict[str, str]) -> Iterator[Machine]:
    """Lend a machine, and leave no process behind."""
    place.mkdir()
    lent = Machine(place, environment)
    try:
        yield lent
    finally:
        lent.clean_up()


def end(process: subprocess.Popen[bytes]) -> int:
    """Ask a process to end, and tell its exit code."""
    process.terminate()
    return process.wait(ENDS_WITHIN)
