"""A container engine of the tests' own: its images, containers, networks and volumes are gone when it ends."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.installers import install

STARTS_WITHIN = 60.0
STOPS_WITHIN = 60.0
BUILDS_WITHIN = 840.0
PLACE = Path(sys.prefix) / "engine"
BASE = "debian:trixie-slim"
STAND_INS = Path(__file__).parents[1] / "packaging" / "stand_ins"
# The networks of compose.yaml are there once on a machine.
TURN = Path("/tmp/openslot-engine.lock")
# What package managers and the engine say where a registry of packages can't be reached.
UNREACHABLE = (
    "Could not connect",
    "Could not resolve",
    "Failed to fetch",
    "Max retries exceeded",
    "NewConnectionError",
    "No matching distribution",
    "SSLError",
    "Temporary failure",
    "Unable to fetch",
)


# Docker's client in place of Podman's too. A build has the machine's network: the engine's own do not lead out.
CLIENT = """#!/bin/sh
if [ "$1" = build ]; then
  shift
  [ "$1" != --format ] || shift 2
  set -- build --network host "$@"
fi
exec {program} "$@"
"""


class CannotRun(Exception):
    """Why there is no container engine on this machine."""


class Engine:
    """A running dockerd, asked by Debian's client with Compose."""

    def __init__(self, place: Path) -> None:
        self._log = place / "dockerd.log"
        self._socket = place / "socket"
        programs = PLACE / "client/usr"
        plugins = place / "config/cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(programs / "libexec/docker/cli-plugins/docker-compose")
        for name in ("docker", "podman"):
            (place / name).write_text(CLIENT.format(program=programs / "bin/docker"))
            (place / name).chmod(0o755)
        self.environment = {
            "PATH": f"{place}:{os.environ['PATH']}",
            "HOME": str(place),
            "DOCKER_HOST": f"unix://{self._socket}",
            "DOCKER_CONFIG": str(place / "config"),
            "DOCKER_BUILDKIT": "0",
        }
        self._dockerd = [
            "dockerd",
            "--iptables=false",
            "--bridge=none",
            f"--data-root={place}/data",
            f"--exec-root={place}/exec",
            f"--pidfile={place}/pid",
            f"--host=unix://{self._socket}",
        ]

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the daemon, with the storage driver that this machine allows."""
        with self._log.open("wb") as log:
            process = subprocess.Popen(self._dockerd, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + STARTS_WITHIN
        while self.call("docker", "version").returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise CannotRun(f"dockerd does not start: {self._last_line()}")
            time.sleep(0.2)
        return process

    def _last_line(self) -> str:
        lines = self._log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it says nothing"

    def call(self, *command: str, cwd: Path | None = None, within: float = 120) -> "subprocess.CompletedProcess[str]":
        """Run a command that may fail."""
        return subprocess.run(
            command, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False, timeout=within
        )

    def run(self, *command: str, cwd: Path | None = None, within: float = 120) -> str:
        """Run a command, and return what it printed; raise an `AssertionError` with all of it if it fails."""
        done = self.call(*command, cwd=cwd, within=within)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def build(self, *command: str, cwd: Path) -> None:
        """Run a command that builds an image; where the packages can't be reached, there is nothing to test."""
        done = self.call(*command, cwd=cwd, within=BUILDS_WITHIN)
        lines = (done.stdout + done.stderr).splitlines()
        if done.returncode != 0 and (said := [line for line in lines if any(each in line for each in UNREACHABLE)]):
            raise CannotRun(f"Packages can't be reached from a container: {said[-1]}")
        assert done.returncode == 0, "\n".join(lines[-40:])

    def prepare(self) -> None:
        """Load the base image, see that containers and their networks run, and build what stands in for others."""
        settings = ["--change=ENV PIP_CERT=/etc/machine.crt"]
        if index := os.environ.get("PIP_INDEX_URL"):
            settings.append(f"--change=ENV PIP_INDEX_URL={index}")
        self._need("docker", "import", *settings, str(PLACE / "base.tar"), BASE)
        self._need("docker", "network", "create", "trial")
        self._need("docker", "run", "--rm", "--network=trial", BASE, "true")
        self._need("docker", "network", "rm", "trial")
        self._need("docker", "build", "--tag=postgres:18", "--tag=caddy:2", str(STAND_INS), within=BUILDS_WITHIN)

    def _need(self, *command: str, within: float = 120) -> None:
        done = self.call(*command, within=within)
        if done.returncode != 0:
            why = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise CannotRun(f"{' '.join(command[:2])} fails: {''.join(why)}")

    def read_address(self, container: str, network: str) -> str:
        """Return the address that a container has in a network."""
        (found,) = json.loads(self.run("docker", "inspect", container))
        return str(found["NetworkSettings"]["Networks"][network]["IPAddress"])

    def clean_up(self) -> None:
        """Remove every container and network: their interfaces would outlive the engine."""
        if containers := self.call("docker", "ps", "--all", "--quiet").stdout.split():
            self.call("docker", "rm", "--force", *containers)
        self.call("docker", "network", "prune", "--force")


@contextmanager
def engine(place: Path) -> Iterator[Engine]:
    """Lend an engine with the base image and the stand-ins, one run of tests on this machine at a time."""
    if (done := install("engine")).returncode != 0:
        raise CannotRun((done.stderr.strip().splitlines() or ["scripts/install-engine fails without a word."])[-1])
    with TURN.open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        lent = Engine(place)
        process = lent.start()
        try:
            lent.prepare()
            yield lent
        finally:
            lent.clean_up()
            process.terminate()
            process.wait(STOPS_WITHIN)
            shutil.rmtree(place, ignore_errors=True)
