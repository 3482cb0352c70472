"""serve: one process that starts the others, keeps them running, and stops them in order."""

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import msgspec
import structlog

from openslot.platform.core.config import Settings
from openslot.platform.core.embedded import Server, keep_server, start_server, stop_server
from openslot.platform.core.errors import StartupError
from openslot.platform.core.log import set_up_logging
from openslot.processes.children import LOOK_EVERY, Child
from openslot.processes.environment import choose, database, server_options
from openslot.processes.exits import holding_signals, leave_on_signals
from openslot.processes.first_start import prepare_first_start, print_first_start, print_ready
from openslot.processes.forks import keep_from_forks, loading
from openslot.processes.inheritance import listen, nearest_address

WEB, WORKER = "openslot.processes.web", "openslot.processes.worker"
END_WITHIN = 40.0
KEEP_EVERY = 1.0
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
QUESTION = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
# In memory: writing to a file that is mapped from a full disk kills the process.
MEMORY = "/dev/shm"  # noqa: S108 - the directory in it is made private

log = structlog.get_logger()


class Supervisor:
    """Keeps its children running during the `with`, and leaves none behind."""

    def __init__(self, settings: Settings) -> None:
        self._listener = listen(settings)
        keep_from_forks(self._listener.fileno())
        self.settings = msgspec.structs.replace(settings, port=self._listener.getsockname()[1])
        choose(port=self.settings.port)
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _: BaseException | None, _at: TracebackType | None) -> None:
        self._listener.close()
        for child in self._children:
            child.terminate()
        deadline = time.monotonic() + END_WITHIN
        for child in self._children:
            child.end(deadline)

    def start_web(self, processes: int, *, database_url: str) -> None:
        for _ in range(processes):
            self._start("web", database_url, listener=self._listener)

    def start_worker(self, database_url: str) -> None:
        self._start("worker", database_url)

    def wait_for_answer(self) -> bool:
        """Wait for the first response of the web process; return False if there will be none."""
        while self._all_run():
            try:
                with socket.create_connection(nearest_address(self._listener), timeout=LOOK_EVERY) as asking:
                    asking.sendall(QUESTION)
                    if self._is_answered(asking):
                        return True
            except OSError:
                time.sleep(LOOK_EVERY)
        return False

    def watch(self, keep: Callable[[], bool] | None = None) -> int:
        """Restart children that die or hang until a signal arrives; give up on one that dies at every start.

        `keep` returns whether the database is running: without it no child could run, so none is given up.
        """
        kept_at, has_database = time.monotonic(), True
        while not has_database or all(child.revive() for child in self._children):
            time.sleep(LOOK_EVERY)
            for child in self._children:
                child.end_if_hanging()
            if keep is not None and time.monotonic() - kept_at >= KEEP_EVERY:
                has_database = keep()
                kept_at = time.monotonic()
        return 1

    def _start(self, kind: str, database_url: str, *, listener: socket.socket | None = None) -> None:
        hang_timeout = self.settings.hang_timeout
        # A signal in between would leave a child behind that nobody knows of, and that waits for its lifeline for ever.
        with holding_signals():
            self._children.append(Child(kind, database_url=database_url, listener=listener, hang_timeout=hang_timeout))

    def _is_answered(self, asking: socket.socket) -> bool:
        while self._all_run():
            try:
                return bool(asking.recv(1))
            except TimeoutError:
                continue
        return False

    def _all_run(self) -> bool:
        return all(child.is_running for child in self._children)


class Embedded:
    """The embedded server that serve starts, keeps running, and stops if it owns it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._server: Server | None = None
        self._pause = FIRST_PAUSE
        self._next_try = 0.0

    def start(self) -> Settings:
        self._server = start_server(self._settings.data_dir, options=server_options(self._settings))
        return msgspec.structs.replace(self._settings, database_url=self._server.url)

    def keep(self) -> bool:
        """Restart it if it was killed, and take it over if its owner is dead; return False while it can't start.

        The cause may be temporary, such as a full disk, so it is tried again after growing pauses.
        """
        if self._server is None:
            return True
        if time.monotonic() < self._next_try:
            return False
        try:
            options = server_options(self._settings)
            self._server = keep_server(self._settings.data_dir, self._server, options=options)
        except (StartupError, OSError) as fault:
            log.warning("the embedded database is down", error=str(fault), next_try_in_seconds=self._pause)
            self._next_try = time.monotonic() + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            return False
        if self._pause > FIRST_PAUSE:
            log.warning("the embedded database is up again")
        self._pause = FIRST_PAUSE
        return True

    def stop(self) -> None:
        """Stop it, unless another process owns it."""
        if self._server is not None and self._server.owned:
            stop_server(self._settings.data_dir)


def serve(settings: Settings, *, web_processes: int, demo: bool) -> int:
    """Run an installation on this machine until a signal arrives, and leave no process behind."""
    leave_on_signals(0)
    set_up_logging(settings)
    embedded = Embedded(settings) if settings.database_url is None else None
    try:
        with _metrics_directory(web_processes), Supervisor(settings) as supervisor:
            with loading(WEB, WORKER):
                ready = embedded.start() if embedded else settings
            return _serve(
                supervisor,
                msgspec.structs.replace(ready, port=supervisor.settings.port),
                keep=embedded.keep if embedded else None,
                web_processes=web_processes,
                demo=demo,
            )
    finally:
        if embedded is not None:
            embedded.stop()


def serve_web_processes(settings: Settings, processes: int) -> int:
    """Run only web processes, several of them, until a signal arrives."""
    leave_on_signals(0)
    set_up_logging(settings)
    with database(settings) as ready, _metrics_directory(processes), Supervisor(ready) as supervisor:
        with loading(WEB):
            pass
        supervisor.start_web(processes, database_url=ready.database_url or "")
        return supervisor.watch() if supervisor.wait_for_answer() else 1


def _serve(
    supervisor: Supervisor, settings: Settings, *, keep: Callable[[], bool] | None, web_processes: int, demo: bool
) -> int:
    words = prepare_first_start(settings, demo=demo)
    if words is not None:
        print_first_start(words)
    url = settings.database_url or ""
    supervisor.start_web(web_processes, database_url=url)
    if not supervisor.wait_for_answer():
        return 1
    print_ready(settings, is_first=words is not None)
    supervisor.start_worker(url)
    return supervisor.watch(keep)


@contextmanager
def _metrics_directory(processes: int) -> Iterator[None]:
    """Let several web processes count together; the library for metrics asks when it is loaded."""
    if processes == 1:
        yield
        return
    folder = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="openslot-metrics-", dir=folder) as directory:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = directory
        yield
