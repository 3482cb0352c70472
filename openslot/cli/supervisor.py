"""serve: one process that starts the others, keeps them running, and ends them in order."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

import msgspec

from openslot.cli.banner import print_first_words, print_ready
from openslot.cli.first_start import first_words
from openslot.cli.lifeline import VARIABLE, make_lifeline
from openslot.cli.listening import listen
from openslot.core.config import Settings
from openslot.core.embedded import Server, start_server, stop_server

END_WITHIN = 40.0
TOO_SOON = 5.0


class Child:
    """A process that should be running."""

    def __init__(self, *arguments: str, lifeline: int, database_url: str) -> None:
        self._command = [sys.executable, "-m", "openslot", *arguments]
        self._lifeline = lifeline
        self._environment = {**os.environ, VARIABLE: str(lifeline), "DATABASE_URL": database_url}
        self.name = arguments[0]
        self.start()

    def start(self) -> None:
        """Start it, in a session of its own: Ctrl-C reaches the supervisor alone."""
        self.began = time.monotonic()
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            self._command, env=self._environment, pass_fds=(self._lifeline,), start_new_session=True
        )

    def end(self, deadline: float) -> None:
        """Wait for its polite end, and kill it when it takes too long."""
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Supervisor:
    """Keeps the children running until a signal comes."""

    def __init__(self, children: list[Child]) -> None:
        self._children = children
        self._ending = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)

    def watch(self) -> int:
        """Restart what dies by itself; end everything when something dies at once or a signal comes."""
        code = 0
        while not self._ending:
            time.sleep(0.1)
            for child in self._children:
                if self._ending or child.process.poll() is None:
                    continue
                if time.monotonic() - child.began < TOO_SOON:
                    code, self._ending = 1, True
                    continue
                child.start()
        self._stop_children()
        return code

    def wait_until_listening(self, settings: Settings) -> bool:
        """Wait for the web's first answer; False when it is not to be."""
        while not self._ending and all(child.process.poll() is None for child in self._children):
            try:
                socket.create_connection((settings.host, settings.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return True
        return False

    def _stop_children(self) -> None:
        for child in self._children:
            child.process.terminate()
        deadline = time.monotonic() + END_WITHIN
        for child in self._children:
            child.end(deadline)

    def _end(self, _signal: int, _frame: FrameType | None) -> None:
        self._ending = True


def serve(settings: Settings, *, web_processes: int, demo: bool) -> int:
    """Run an installation on this machine until a signal comes, and leave no process behind."""
    listen(settings).close()
    server = start_server(settings.data_dir) if settings.database_url is None else None
    try:
        return _serve(_with_database(settings, server), web_processes=web_processes, demo=demo)
    finally:
        if server is not None and server.owned:
            stop_server(settings.data_dir)


def _serve(settings: Settings, *, web_processes: int, demo: bool) -> int:
    words = first_words(settings, demo=demo)
    if words is not None:
        print_first_words(words)
    reading, _writing = make_lifeline()
    url = settings.database_url or ""
    children = [
        Child("web", "--workers", str(web_processes), lifeline=reading, database_url=url),
        Child("worker", lifeline=reading, database_url=url),
    ]
    supervisor = Supervisor(children)
    if supervisor.wait_until_listening(settings):
        print_ready(settings, is_first=words is not None)
    return supervisor.watch()


def _with_database(settings: Settings, server: Server | None) -> Settings:
    return settings if server is None else msgspec.structs.replace(settings, database_url=server.url)
