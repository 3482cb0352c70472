"""Who owns the server: the process that starts it also stops it, and another one takes over when the owner is dead."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from openslot.core.embedded.cluster import initialise, pgdata, prepare
from openslot.core.embedded.process import STOP_WITHIN, await_server, ends, find_server, launch, launched, postmaster

RELEASE_WITHIN = 2.0

_owned: dict[Path, IO[bytes]] = {}


class Server(Struct, frozen=True, kw_only=True):
    """A running embedded server, and whether this process has to stop it."""

    url: str
    owned: bool


def start_server(data_dir: Path, *, options: Mapping[str, str] | None = None) -> Server:
    """Find the running server or start it; take it over if its owner is dead."""
    directory = prepare(data_dir)
    with _locked(directory):
        url = await_server(directory)
        if url is not None:
            return Server(url=url, owned=_take_over(directory))
        initialise(directory)
        url = launch(directory, options or {})
        return Server(url=url, owned=_take_over(directory, within=RELEASE_WITHIN))


def keep_server(data_dir: Path, server: Server, *, options: Mapping[str, str] | None = None) -> Server:
    """Start the server again if it has stopped, and take it over if its owner is dead."""
    if find_server(data_dir) is None:
        again = start_server(data_dir, options=options)
        return Server(url=again.url, owned=again.owned or server.owned)
    return server if server.owned else Server(url=server.url, owned=_take_over(pgdata(data_dir)))


def has_owner(data_dir: Path) -> bool:
    """Return whether a live process owns the server, running or not."""
    try:
        with (pgdata(data_dir).parent / "postgres.owner").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def stop_server(data_dir: Path) -> None:
    """Stop the server; open transactions are rolled back, and everything committed is on disk."""
    directory = pgdata(data_dir)
    process = postmaster(directory)
    for politeness in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if process is None or ends(process, politeness):
            break
    if child := launched.pop(directory, None):
        child.wait(STOP_WITHIN)
    if file := _owned.pop(directory, None):
        file.close()


def _leave_to_parent() -> None:
    for file in _owned.values():
        file.close()
    _owned.clear()


# A fork that kept the lock would own the server after this process's death.
os.register_at_fork(after_in_child=_leave_to_parent)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    with (directory.parent / "postgres.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _take_over(directory: Path, *, within: float = 0.0) -> bool:
    """Become the owner if there is none; the kernel releases the lock of a dead owner, however it died."""
    if directory in _owned:
        return False
    file = (directory.parent / "postgres.owner").open("ab")
    deadline = time.monotonic() + within
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return False
            time.sleep(0.02)
    _owned[directory] = file
    # Only the lock matters; with a full disk the file just can't tell whose it is.
    with suppress(OSError):
        file.truncate(0)
        file.write(b"%d\n" % os.getpid())
        file.flush()
    return True
