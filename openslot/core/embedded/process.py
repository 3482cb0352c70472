"""The server's process: finding it, starting it, waiting for it and ending it."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil

from openslot.core.embedded.cluster import DATABASE, PORT, pgdata, socket_directory
from openslot.core.embedded.root import unprivileged
from openslot.core.errors import StartupError
from openslot.core.memory import page_cache_megabytes

LARGEST_LOG = 10_000_000
RECOVERY_WITHIN = 300.0
STOP_WITHIN = 30.0

launched: dict[Path, subprocess.Popen[bytes]] = {}


def find_server(data_dir: Path) -> str | None:
    """Return the address of the server on this data directory if it is running and ready."""
    directory = pgdata(data_dir)
    lines = _postmaster_lines(directory)
    if len(lines) < 8 or lines[7].strip() != "ready" or postmaster(directory) is None:
        return None
    return f"postgresql://postgres@/{DATABASE}?host={quote(lines[4].strip(), safe='/')}&port={lines[3].strip()}"


def await_server(directory: Path) -> str | None:
    """Find the server, waiting while it is still starting or stopping."""
    deadline = time.monotonic() + RECOVERY_WITHIN
    while postmaster(directory) is not None and time.monotonic() < deadline:
        url = find_server(directory.parent)
        if url is not None:
            return url
        time.sleep(0.02)
    return None


def launch(directory: Path, options: Mapping[str, str]) -> str:
    """Start the server and wait until it is ready."""
    _forget_dead_server(directory)
    deadline = time.monotonic() + RECOVERY_WITHIN
    while True:
        log, begins_at = _open_log(directory)
        with log:
            process = _spawn(directory, options, log)
        try:
            url = _wait_until_ready(directory, process, deadline)
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


def _wait_until_ready(directory: Path, process: subprocess.Popen[bytes], deadline: float) -> str | None:
    while process.poll() is None and time.monotonic() < deadline:
        url = find_server(directory.parent)
        if url is not None:
            return url
        time.sleep(0.02)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.send_signal(signal.SIGINT)
        process.wait(STOP_WITHIN)
        return
    process.kill()
    process.wait()


def _open_log(directory: Path) -> tuple[IO[bytes], int]:
    path = directory.parent / "postgres.log"
    if path.exists() and path.stat().st_size > LARGEST_LOG:
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
    """Find the server's own process."""
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
        (socket_directory(directory) / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)


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
