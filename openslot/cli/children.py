"""The processes that a supervisor starts, tells the database's address, and keeps running."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

import structlog

from openslot.cli import heartbeat, lifeline, listening

LOOK_EVERY = 0.1
LIVED_AFTER = 5.0
LONGEST_PAUSE = 10.0
MOST_STARTS = 5

log = structlog.get_logger()


class Child:
    """A process that should be running."""

    def __init__(
        self,
        kind: str,
        *,
        listener: socket.socket | None = None,
        database_url: str | None = None,
        environment: Mapping[str, str] | None = None,
        hang_timeout: float,
    ) -> None:
        self._kind = kind
        self._command = [sys.executable, "-m", "openslot.cli.child", kind]
        self._listener = listener
        self._environment = {**os.environ, **(environment or {})}
        self._database_url = database_url
        self._hang_timeout = hang_timeout
        self._lifeline: int | None = None
        self._heartbeat: int | None = None
        self._pause = 0.5
        self._starts_left = MOST_STARTS
        self.start()

    def start(self) -> None:
        """Start it, in a session of its own: Ctrl-C reaches the supervisor alone."""
        self.let_go()
        reading, self._lifeline = os.pipe()
        self._heartbeat, writing = os.pipe()
        os.set_blocking(self._heartbeat, False)
        self._silent_for: float | None = None
        inherited = {lifeline.VARIABLE: reading, heartbeat.VARIABLE: writing}
        if self._listener is not None:
            inherited[listening.VARIABLE] = self._listener.fileno()
        self._began = time.monotonic()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._command,
            env={**self._environment, **{name: str(descriptor) for name, descriptor in inherited.items()}},
            pass_fds=tuple(inherited.values()),
            start_new_session=True,
        )
        os.close(reading)
        os.close(writing)
        if self._database_url is not None:
            self.tell(self._database_url)

    def tell(self, database_url: str) -> None:
        """Tell it which database to use, now and after every restart."""
        self._database_url = database_url
        if self._lifeline is not None:
            with suppress(BrokenPipeError):
                os.write(self._lifeline, f"{database_url}\n".encode())

    @property
    def is_running(self) -> bool:
        """Tell whether it runs."""
        return self._process.poll() is None

    def end_if_hanging(self) -> None:
        """Kill it when nothing was heard of it for too long; to be called every `LOOK_EVERY` seconds.

        Silence begins with the first sign of life: a start that takes long is not a hang. Looks are counted and not
        seconds: a supervisor that was itself held up has not listened meanwhile.
        """
        if self._is_heard():
            self._silent_for = 0.0
        elif self._silent_for is not None:
            self._silent_for += LOOK_EVERY
        if self._silent_for is not None and self._silent_for >= self._hang_timeout and self.is_running:
            log.error("a process hangs and is replaced", kind=self._kind, pid=self._process.pid)
            self._process.kill()
            self._process.wait()

    def _is_heard(self) -> bool:
        try:
            return self._heartbeat is not None and bool(os.read(self._heartbeat, 4096))
        except BlockingIOError:
            return False

    def revive(self) -> bool:
        """Start it again when it has died, after longer pauses the sooner it dies; False where it never lives."""
        lived = time.monotonic() - self._began
        if lived >= LIVED_AFTER:
            self._pause, self._starts_left = 0.5, MOST_STARTS
        if self.is_running:
            return True
        if self._starts_left == 0:
            return False
        if lived >= self._pause:
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            self._starts_left -= 1
            self.start()
        return True

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def end(self, deadline: float) -> None:
        """Wait for its polite end, and kill it when it takes too long."""
        try:
            self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.let_go()

    def let_go(self) -> None:
        """Drop its lifeline and stop listening to it."""
        for descriptor in (self._lifeline, self._heartbeat):
            if descriptor is not None:
                os.close(descriptor)
        self._lifeline = self._heartbeat = None
