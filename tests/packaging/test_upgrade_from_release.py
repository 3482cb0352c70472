"""The last release is upgraded by the documented commands of a wheel and of a checkout, and keeps what was booked."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openslot import __version__
from openslot.platform.core.build import ask_git
from proofs.releases import CannotBuild, build_wheel_of, check_history
from tests.packaging.support import NOT_OURS, ROOT, blocks, build_wheel, section
from tests.support.installation import END_WITHIN
from tests.support.installers import install
from tests.support.ports import held_port
from tests.support.site import Site
from tests.upgrades.statements import load_release

UV = (sys.executable, "-m", "uv")
INSTALLS_WITHIN = 600


@pytest.fixture(scope="module")
def release() -> str:
    """The commit of the last release."""
    commit = load_release().commit
    try:
        check_history(commit)
    except CannotBuild as why:
        pytest.skip(str(why))
    return commit


class Shell:
    """Where the commands are typed: a directory, a port of its own, and words that are others on this machine."""

    def __init__(self, place: Path, port: int, words: dict[str, str], **environ: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*NOT_OURS, "MAKE"))}
        self.environment = {**kept, "OPENSLOT_PORT": str(port), **environ}
        self.place, self._words = place, words
        self.site = Site(f"http://127.0.0.1:{port}", f"127.0.0.1:{port}")

    def run(self, commands: str) -> str:
        """Run commands, and return what they print."""
        done = subprocess.run(
            ["sh", "-ec", self._read(commands)],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALLS_WITHIN,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Run a command that serves, until Ctrl-C is pressed."""
        with (self.place.parent / f"{self.place.name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {self._read(command)}"],
                cwd=self.place,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self.site.wait_until_ready()
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(END_WITHIN)

    def _read(self, commands: str) -> str:
        for documented, here in self._words.items():
            commands = commands.replace(documented, here)
        return commands


def upgrade(way: str, shell: Shell, openslot: str) -> None:
    """Book with the last release, run the commands of a way, see that it worked, and that nothing is lost."""
    done, _, checks = section(way).partition("How to see that it worked")
    before, _, rest = blocks(done)[0].partition("# stop ")
    *steps, serve = rest.partition("\n")[2].splitlines()
    with shell.running(serve):
        key = str(json.loads(shell.run(f"{openslot} seed --json"))["apiKey"])
        booking_id = shell.site.book(key)
        shell.run(before)

    shell.run("\n".join(steps))
    with shell.running(serve):
        version, doctor = blocks(checks)[0].splitlines()
        assert shell.run(version) == f"openslot {__version__} ({ask_git(ROOT)})\n"
        assert "The database is up to date." in shell.run(doctor)
        assert shell.site.has(booking_id, key)
        assert shell.site.has(shell.site.book(key), key)


def test_a_wheel(release: str, tmp_path: Path) -> None:
    if (done := install("pipx")).returncode != 0:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    service = tmp_path / "service"
    service.mkdir()
    old = build_wheel_of(release, tmp_path / "release")
    shutil.copy(build_wheel(tmp_path / "new", commit=str(ask_git(ROOT))), service)
    places = {"PIPX_DEFAULT_PYTHON": sys.executable, "PIPX_HOME": f"{tmp_path}/pipx", "PIPX_BIN_DIR": f"{tmp_path}/bin"}
    with held_port() as port:
        shell = Shell(service, port, {}, PATH=f"{tmp_path}/bin:{os.environ['PATH']}", **places)
        shell.run(f"pipx install {old}")
        upgrade("The wheel", shell, "openslot")


def test_an_environment_with_the_locked_packages(release: str, tmp_path: Path) -> None:
    service, environment, new = (tmp_path / name for name in ("service", "environment", "openslot-new"))
    service.mkdir()
    wheel = build_wheel_of(release, tmp_path / "release")
    locked = str(tmp_path / "release/source/requirements/runtime.txt")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    uv = [*UV, "pip", "install", "--quiet", "--system-certs", "--python", str(environment / "bin/python")]
    subprocess.run([*uv, "--require-hashes", "-r", locked], check=True)
    subprocess.run([*uv, "--no-deps", str(wheel)], check=True)
    shutil.copytree(ROOT / "requirements", new / "requirements")
    build_wheel(new / "dist", commit=str(ask_git(ROOT)))

    with held_port() as port:
        shell = Shell(service, port, {"/opt/openslot": str(environment)})
        upgrade("An environment with the locked packages", shell, f"{environment}/bin/openslot")


def test_a_checkout(release: str, tmp_path: Path) -> None:
    if not ask_git(ROOT):
        pytest.skip("This is not a clone of the repository.")
    origin, checkout = tmp_path / "origin", tmp_path / "checkout"
    git = ["git", "-c", "advice.detachedHead=false"]
    subprocess.run([*git, "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(origin)], check=True)
    subprocess.run([*git, "-C", str(origin), "checkout", "--quiet", "-B", "main", release], check=True)
    subprocess.run([*git, "clone", "--quiet", "--branch", "main", str(origin), str(checkout)], check=True)
    subprocess.run([*git, "-C", str(origin), "checkout", "--quiet", "-B", "main", str(ask_git(ROOT))], check=True)

    with held_port() as port:
        shell = Shell(checkout, port, {"make run": f"make run PYTHON={sys.executable}"})
        shell.run("make PYTHON=" + sys.executable + " .venv/.runtime")
        upgrade("A checkout", shell, ".venv/bin/openslot")
