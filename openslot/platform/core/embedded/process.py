"""The server's process: finding it, starting it, waiting for it, ending it, and who owns it."""

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil
from msgspec import Struct

from openslot.platform.core.embedded.cluster import (
    DATABASE,
    PORT,
    initialise,
    pgdata,
    prepare,
    socket_directory,
    unprivileged,
)
from openslot.platform.core.errors import StartupError

# An eighth, so that a small machine has room for everything else. The kernel caches files too: with 100,000 bookings a
# larger cache of our own makes no difference that can be measured, and it never gives its memory back.
SHARE = 8
SMALLEST, LARGEST = 64, 96
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def page_cache_megabytes(total: int | None = None) -> int:
    megabytes = (total if total is not None else _total()) // SHARE // 1024**2
    return min(max(megabytes, SMALLEST), LARGEST)


def _total() -> int:
    """Return the machine's memory, or the container's limit if that is lower."""
    machine = psutil.virtual_memory().total
    try:
        limit = CONTAINER_LIMIT.read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdecimal() else machine


RECOVERY_WITHIN = 300.0
STOP_WITHIN = 30.0

launched: dict[Path, subprocess.Popen[bytes]] = {}


def find_server(data_dir: Path) -> str | None:
    directory = pgdata(data_dir)
    lines = _postmaster_lines(directory)
    if len(lines) < 8 or lines[7].strip() != "ready" or postmaster(directory) is None:
        return None
    return f"postgresql://postgres@/{DATABASE}?host={quote(lines[4].strip(), safe='/')}&port={lines[3].strip()}"


def await_server(directory: Path) -> str | None:
    """Find the server, waiting while it is still starting or stopping."""
    return _find_while(lambda: postmaster(directory) is not None, directory, time.monotonic() + RECOVERY_WITHIN)


def _find_while(
    is_running: Callable[[], bool], directory: Path, deadline: float, *, killed: list[str] | None = None
) -> str | None:
    """Wait until the server is ready; `killed` is what a killed one has left, which may have had the same pid."""
    while is_running() and time.monotonic() < deadline:
        if _postmaster_lines(directory) != killed and (url := find_server(directory.parent)) is not None:
            return url
        time.sleep(0.02)
    return None


def launch(directory: Path, options: Mapping[str, str]) -> str:
    _forget_dead_server(directory)
    deadline, killed = time.monotonic() + RECOVERY_WITHIN, _postmaster_lines(directory)
    while True:
        log, begins_at = _open_log(directory)
        with log:
            process = _spawn(directory, options, log)
        try:
            url = _find_while(lambda: process.poll() is None, directory, deadline, killed=killed)  # noqa: B023 - called at once
        except BaseException:
            _end(process)
            raise
        if url is not None:
            launched[directory] = process
            return url
        _end(process)
        why = _why(directory, begins_at)
        # If only the server itself was killed, its children may need a moment to notice.
        if "shared memory block" not in why or time.monotonic() > deadline:
            raise StartupError(f"The embedded database does not start: {why}")
        time.sleep(0.2)


def _spawn(directory: Path, options: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    chosen = {
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": f'"{socket_directory(directory)}"',
        "max_connections": "300",
        "shared_buffers": f"{page_cache_megabytes()}MB",
        # For reading ahead; each connection that there may be has room for so many reads.
        "io_max_concurrency": "8",
        **options,
    }
    flags = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    command, extra = unprivileged(directory, ["postgres", "-D", str(directory), *flags])
    return subprocess.Popen(  # noqa: S603 - our own program with our own arguments
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/", **extra
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.send_signal(signal.SIGINT)
        process.wait(STOP_WITHIN)
        return
    process.kill()
    process.wait()


def _open_log(directory: Path) -> tuple[IO[bytes], int]:
    path = directory.parent / "postgres.log"
    if path.exists() and path.stat().st_size > 10_000_000:
        path.replace(path.with_name("postgres.log.1"))
    log = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
    return log, log.seek(0, os.SEEK_END)


def _why(directory: Path, begins_at: int) -> str:
    """Find the line in the log, written since this start, that says why it failed."""
    with (directory.parent / "postgres.log").open("rb") as log:
        log.seek(begins_at)
        lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line.partition(grade)[2] for line in lines for grade in ("FATAL:", "PANIC:") if grade in line]
    return (fatal or lines or ["no reason was given."])[-1].strip()


def _postmaster_lines(directory: Path) -> list[str]:
    try:
        return (directory / "postmaster.pid").read_text().splitlines()
    except OSError:
        return []


def postmaster(directory: Path) -> psutil.Process | None:
    lines = _postmaster_lines(directory)
    try:
        process = psutil.Process(int(lines[0]))
        is_ours = process.name().startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE
        return process if is_ours and str(directory) in process.cmdline() else None
    except (IndexError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def _forget_dead_server(directory: Path) -> None:
    """Remove a killed server's lock files if its pid is now a zombie or another program; PostgreSQL would not start."""
    if child := launched.pop(directory, None):
        child.poll()
    try:
        process = psutil.Process(int(_postmaster_lines(directory)[0]))
        is_dead = process.status() == psutil.STATUS_ZOMBIE or str(directory) not in process.cmdline()
    except (IndexError, ValueError, psutil.Error):
        return
    deadline = time.monotonic() + STOP_WITHIN
    # Removing the files also removes PostgreSQL's protection against surviving children, so wait for those here.
    while is_dead and _has_survivors(directory):
        if time.monotonic() > deadline:
            raise StartupError(f"Processes of a killed database still run in {directory}; stop them first.")
        time.sleep(0.05)
    if is_dead:
        (directory / "postmaster.pid").unlink(missing_ok=True)
        # No other server has a socket there, and an operator may have chosen another port.
        for lock in socket_directory(directory).glob(".s.PGSQL.*.lock"):
            lock.unlink(missing_ok=True)


def _has_survivors(directory: Path) -> bool:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name().startswith("postgres") and process.cwd() == str(directory):
                return True
    return False


def ends(process: psutil.Process, politeness: signal.Signals) -> bool:
    """Send a signal and return whether the process ends in time; a zombie that is not reaped counts as ended."""
    deadline = time.monotonic() + STOP_WITHIN
    with suppress(psutil.NoSuchProcess):
        process.send_signal(politeness)
        while time.monotonic() < deadline:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.02)
        return False
    return True


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
        return Server(url=url, owned=_take_over(directory, within=2.0))


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
