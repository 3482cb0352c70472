"""The processes that a supervisor starts, tells the database's address, and keeps running."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from openslot.cli import lifeline, listening

LIVED_AFTER = 5.0
LONGEST_PAUSE = 10.0
MOST_STARTS = 5


class Child:
    """A process that should be running."""

    def __init__(
        self,
        kind: str,
        *,
        listener: socket.socket | None = None,
        database_url: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = [sys.executable, "-m", "openslot.cli.child", kind]
        self._listener = listener
        self._environment = {**os.environ, **(environment or {})}
        self._database_url = database_url
        self._lifeline: int | None = None
        self._pause = 0.5
        self._starts_left = MOST_STARTS
        self.start()

    def start(self) -> None:
        """Start it, in a session of its own: Ctrl-C reaches the supervisor alone."""
        self.let_go()
        reading, self._lifeline = os.pipe()
        inherited = {lifeline.VARIABLE: reading}
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
        """Drop its lifeline."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
