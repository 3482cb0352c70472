"""The processes that a supervisor forks, gives the database's address, and keeps running: web processes and workers."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from openslot.processes import inheritance
from openslot.processes.exits import run
from openslot.processes.forks import FORK, begin_fork, close_descriptor, keep_from_forks, start_fork

LOOK_EVERY = 0.1
LIVED_AFTER = 5.0
LONGEST_PAUSE = 10.0
MAX_STARTS = 5
# What `ps` and `top` show; a fork has the command line of the supervisor.
NAME = Path("/proc/self/comm")

log = structlog.get_logger()


class Child:
    """A process that should be running."""

    def __init__(
        self,
        kind: str,
        *,
        listener: socket.socket | None = None,
        database_url: str | None = None,
        hang_timeout: float,
    ) -> None:
        self._kind = kind
        self._listener = listener
        self._database_url = database_url
        self._hang_timeout = hang_timeout
        self._lifeline: int | None = None
        self._heartbeat: int | None = None
        self._pause = 0.5
        self._starts_left = MAX_STARTS
        self.start()

    def start(self) -> None:
        """Fork it from the supervisor, which has loaded all modules (docs/decisions/0035)."""
        self.let_go()
        reading, self._lifeline = os.pipe()
        self._heartbeat, writing = os.pipe()
        os.set_blocking(self._heartbeat, False)
        keep_from_forks(self._lifeline, self._heartbeat)
        self._silent_for: float | None = None
        inherited = {inheritance.LIFELINE: reading, inheritance.HEARTBEAT: writing}
        if self._listener is not None:
            inherited[inheritance.LISTENER] = self._listener.fileno()
        self._began = time.monotonic()
        self._process = FORK.Process(target=become, args=(self._kind, inherited))
        start_fork(self._process)
        os.close(reading)
        os.close(writing)
        if self._database_url is not None:
            self.tell(self._database_url)

    def tell(self, database_url: str) -> None:
        """Send it the database's address, now and after every restart."""
        self._database_url = database_url
        if self._lifeline is not None:
            with suppress(BrokenPipeError):
                os.write(self._lifeline, f"{database_url}\n".encode())

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def end_if_hanging(self) -> None:
        """Kill it if it has sent no heartbeat for too long; must be called every `LOOK_EVERY` seconds.

        Counting begins with the first heartbeat: a slow start is not a hang. Calls are counted instead of seconds,
        because a supervisor that was itself suspended has not listened in the meantime.
        """
        if self._is_heard():
            self._silent_for = 0.0
        elif self._silent_for is not None:
            self._silent_for += LOOK_EVERY
        if self._silent_for is not None and self._silent_for >= self._hang_timeout and self.is_running:
            log.error("a process hangs and is replaced", kind=self._kind, pid=self._process.pid)
            self._process.kill()
            self._process.join()

    def _is_heard(self) -> bool:
        try:
            return self._heartbeat is not None and bool(os.read(self._heartbeat, 4096))
        except BlockingIOError:
            return False

    def revive(self) -> bool:
        """Restart it if it has died, with longer pauses the sooner it dies; return False if it dies at every start."""
        lived = time.monotonic() - self._began
        if lived >= LIVED_AFTER:
            self._pause, self._starts_left = 0.5, MAX_STARTS
        if self.is_running:
            return True
        if self._starts_left == 0:
            return False
        if lived >= self._pause:
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            self._starts_left -= 1
            log.warning(
                "a process ended and is started again",
                kind=self._kind,
                pid=self._process.pid,
                exit_code=self._process.exitcode,
            )
            self.start()
        return True

    def terminate(self) -> None:
        self._process.terminate()

    def end(self, deadline: float) -> None:
        self._process.join(max(0.1, deadline - time.monotonic()))
        if self.is_running:
            self._process.kill()
            self._process.join()
        self.let_go()

    def let_go(self) -> None:
        for descriptor in (self._lifeline, self._heartbeat):
            if descriptor is not None:
                close_descriptor(descriptor)
        self._lifeline = self._heartbeat = None


def become(kind: str, inherited: Mapping[str, int]) -> None:
    """Run as this kind of process, with descriptors from the supervisor, until told to stop."""
    begin_fork(keeping=inherited.values())
    # In its own session, so that Ctrl-C reaches only the supervisor.
    os.setsid()
    os.environ.update({name: str(descriptor) for name, descriptor in inherited.items()})
    with suppress(OSError):
        NAME.write_text(f"openslot-{kind}")
    run({"web": _web, "worker": _worker}[kind])


def _web() -> None:
    from openslot.processes.environment import settings
    from openslot.processes.web import serve_web

    serve_web(settings())


def _worker() -> None:
    from openslot.processes.worker import work

    work()
