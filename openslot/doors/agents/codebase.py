"""The source code that agents may read: text files that git tracks or the package lists, without links or secrets.

Every path is walked from the root's own descriptor, one name at a time, without following links. So what is checked is
what is read, even if somebody replaces a directory by a link in between.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from time import perf_counter

from msgspec import Struct

import openslot
from openslot.doors.agents.git import list_tracked
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import list_secret_files
from openslot.platform.core.errors import Invalid, NotFound

MAX_FILE_BYTES, MAX_SEARCHED_BYTES = 1_000_000, 200_000_000
MAX_LINES, MAX_CHARACTERS, MAX_LINE_LENGTH = 2_000, 100_000, 2_000
MAX_ENTRIES, MAX_DEPTH = 1_000, 30
MAX_SEARCH_TIME = timedelta(seconds=2)

# Source code and documents. What is not named here, such as keys, databases and archives, does not exist for agents.
SOURCE = frozenset({".py", ".pyi", ".sql", ".html", ".css", ".js", ".mjs", ".md", ".po", ".sh"})
DATA = frozenset({".json", ".toml", ".txt", ".yaml", ".yml"})
NAMES = frozenset({"license", "makefile", "containerfile", "dockerfile", "py.typed"})
# Data files with these words in their names hold settings more often than code.
SECRET_WORDS = (
    "secret",
    "credential",
    "password",
    "passwd",
    "token",
    "private",
    "settings",
    "compose",
    "config",
    "env",
)
NOT_OURS = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class FileLines(Struct, frozen=True, kw_only=True):
    """Some lines of a file."""

    path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    is_cut: bool
    """Whether there is more of what was asked for."""


class DirectoryEntry(Struct, frozen=True, kw_only=True):
    name: str
    path: str
    is_directory: bool
    size: int


class FileMatch(Struct, frozen=True, kw_only=True):
    path: str
    line: int | None
    """None if the query was found in the path."""
    text: str


class SearchFindings(Struct, frozen=True, kw_only=True):
    matches: list[FileMatch]
    files_searched: int
    is_complete: bool


class Codebase(Struct, frozen=True, kw_only=True):
    """A root, which files below it are source code, and what is never opened, by device and inode."""

    root: Path
    files: frozenset[str]
    directories: frozenset[str]
    """The directories that have any of the files, at any depth."""
    closed: frozenset[tuple[int, int]]


def find_codebase(settings: Settings) -> Codebase:
    """Find the root, and list its source code: what lies beside it, such as drafts and exports, is nobody's to read."""
    root = settings.codebase_root or _find_own_source()
    files = list_tracked(root) | list_packaged(root)
    paths = [settings.data_dir, *list_secret_files()]
    if settings.data_dir.resolve() in root.resolve().parents:
        paths.append(root)
    return Codebase(root=root, files=files, directories=parents_of(files), closed=frozenset(_identify(paths)))


def parents_of(files: Iterable[str]) -> frozenset[str]:
    """Return the directories that have any of these files, at any depth; the root is the empty path."""
    found = {""}
    for path in files:
        while (path := path.rpartition("/")[0]) not in found:
            found.add(path)
    return frozenset(found)


def list_packaged(root: Path, package: Distribution | None = None) -> frozenset[str]:
    """List the files below a directory that the installed package lists as its own."""
    try:
        package = package or distribution("openslot")
    except PackageNotFoundError:
        return frozenset()
    below = root.resolve()
    located = (Path(str(package.locate_file(each))).resolve() for each in package.files or ())
    return frozenset(path.relative_to(below).as_posix() for path in located if path.is_relative_to(below))


def _find_own_source() -> Path:
    """Return the checkout that the running package is in, or the package where it is installed without one."""
    package = Path(openslot.__file__).resolve().parent
    return package.parent if (package.parent / "pyproject.toml").is_file() else package


def _identify(paths: Iterable[Path]) -> Iterator[tuple[int, int]]:
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            continue
        yield found.st_dev, found.st_ino


def read_path(path: str) -> tuple[str, ...]:
    """Split a path below the root into its names, or refuse it; what agents may not see does not exist."""
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    is_inside = not path.startswith("/") and "\0" not in path and len(names) <= MAX_DEPTH
    if not is_inside or any(_is_hidden(name) for name in names):
        raise _not_found()
    return names


def _is_hidden(name: str) -> bool:
    # Some file systems ignore letter case. ".." begins with a dot too.
    folded = name.casefold()
    return folded.startswith(".") or folded in NOT_OURS or folded.endswith((".egg-info", ".dist-info"))


def is_readable_name(name: str) -> bool:
    """Return whether files of this name are source code or documents."""
    folded = name.casefold()
    if _is_hidden(name):
        return False
    suffix = os.path.splitext(folded)[1]
    return suffix in SOURCE or folded in NAMES or (suffix in DATA and not any(word in folded for word in SECRET_WORDS))


def read_file(codebase: Codebase, path: str, *, start_line: int, end_line: int | None) -> FileLines:
    names = read_path(path)
    if end_line is not None and end_line < start_line:
        raise Invalid(details={"endLine": "must not be less than startLine"})
    body = find_body(codebase, names)
    if body is None:
        raise _not_found()
    if len(body) > MAX_FILE_BYTES:
        raise Invalid(details={"path": f"must be a file of at most {MAX_FILE_BYTES} bytes"})
    text = _decode(body)
    if text is None:
        raise Invalid(details={"path": "must be a text file"})
    return _cut(path="/".join(names), lines=text.splitlines(), start_line=start_line, end_line=end_line)


def find_body(codebase: Codebase, names: tuple[str, ...]) -> bytes | None:
    """Read a file, one byte more than may be shown at most; None if agents may not see it."""
    with _opened_directory(codebase, names[:-1]) as directory:
        return _read(codebase, directory, names) if names else None


def _cut(*, path: str, lines: list[str], start_line: int, end_line: int | None) -> FileLines:
    if start_line > max(1, len(lines)):
        raise Invalid(details={"startLine": f"must be at most {max(1, len(lines))}, the last line"})
    asked = lines[start_line - 1 : end_line]
    shown: list[str] = []
    left = MAX_CHARACTERS
    for line in asked[:MAX_LINES]:
        left -= min(len(line), MAX_LINE_LENGTH) + 1
        if left < 0:
            break
        shown.append(line[:MAX_LINE_LENGTH])
    is_cut = len(shown) < len(asked) or any(len(line) > MAX_LINE_LENGTH for line in asked[: len(shown)])
    return FileLines(
        path=path,
        start_line=start_line,
        end_line=start_line + max(0, len(shown) - 1),
        total_lines=len(lines),
        text="\n".join(shown),
        is_cut=is_cut,
    )


def list_directory(codebase: Codebase, path: str) -> tuple[list[DirectoryEntry], bool]:
    """List the files and directories that agents may see, by name, and return whether these are all."""
    names = read_path(path)
    with _opened_directory(codebase, names) as directory:
        found = [
            DirectoryEntry(
                name=name,
                path="/".join((*names, name)),
                is_directory=stat.S_ISDIR(state.st_mode),
                size=0 if stat.S_ISDIR(state.st_mode) else state.st_size,
            )
            for name, state in _list(codebase, directory, names)
        ]
    return found[:MAX_ENTRIES], len(found) <= MAX_ENTRIES


def search_files(
    codebase: Codebase, query: str, path: str, *, limit: int, within: timedelta = MAX_SEARCH_TIME
) -> SearchFindings:
    """Find a text in paths and lines, in any letter case, until there are enough matches or time is up."""
    names = read_path(path)
    searching = _Searching(codebase, query, limit=limit, within=within)
    try:
        with _opened_directory(codebase, names) as directory:
            searching.search(directory, names)
    except NotFound:
        # A file, perhaps.
        with _opened_directory(codebase, names[:-1]) as directory:
            if not names or not searching.search_file(directory, names):
                raise
    is_complete = searching.is_complete and len(searching.matches) <= limit
    return SearchFindings(matches=searching.matches[:limit], files_searched=searching.files, is_complete=is_complete)


class _Searching:
    def __init__(self, codebase: Codebase, query: str, *, limit: int, within: timedelta) -> None:
        self._codebase = codebase
        self._query = query.casefold()
        self._needle = query.lower().encode()
        self._limit = limit
        self._ends_at = perf_counter() + within.total_seconds()
        self._bytes = 0
        self.matches: list[FileMatch] = []
        self.files = 0
        self.is_complete = True

    def search(self, directory: int, names: tuple[str, ...]) -> None:
        for name, state in _list(self._codebase, directory, names):
            if not self._has_room():
                return
            if not stat.S_ISDIR(state.st_mode):
                self.search_file(directory, (*names, name))
            elif len(names) < MAX_DEPTH:
                try:
                    inner = _open_inside(self._codebase, directory, name)
                except NotFound:
                    continue
                try:
                    self.search(inner, (*names, name))
                finally:
                    os.close(inner)

    def search_file(self, directory: int, names: tuple[str, ...]) -> bool:
        """Search one file; return False if there is none that agents may see."""
        body = _read(self._codebase, directory, names)
        if body is None:
            return False
        path = "/".join(names)
        self.files += 1
        self._bytes += len(body)
        if self._query in path.casefold():
            self.matches.append(FileMatch(path=path, line=None, text=path))
        # Most files are passed over without being decoded; texts beyond ASCII change by more than their case.
        if len(body) > MAX_FILE_BYTES or (self._needle.isascii() and self._needle not in body.lower()):
            return True
        for number, line in enumerate((_decode(body) or "").splitlines(), 1):
            if self._query in line.casefold():
                self.matches.append(FileMatch(path=path, line=number, text=line.strip()[:300]))
                if len(self.matches) > self._limit:
                    break
        return True

    def _has_room(self) -> bool:
        is_over = perf_counter() > self._ends_at or self._bytes > MAX_SEARCHED_BYTES
        if is_over or len(self.matches) > self._limit:
            self.is_complete = False
        return self.is_complete


@contextmanager
def _opened_directory(codebase: Codebase, names: tuple[str, ...]) -> Iterator[int]:
    """Open a directory below the root, name by name; whoever swaps one for a link meanwhile gains nothing."""
    if "/".join(names) not in codebase.directories:
        raise _not_found()
    try:
        directory = os.open(codebase.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise _not_found() from None
    try:
        _check_open(codebase, directory)
        for name in names:
            inner = _open_inside(codebase, directory, name)
            os.close(directory)
            directory = inner
        yield directory
    finally:
        os.close(directory)


def _open_inside(codebase: Codebase, directory: int, name: str) -> int:
    try:
        inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=directory)
    except (OSError, ValueError):
        raise _not_found() from None
    try:
        _check_open(codebase, inner)
    except NotFound:
        os.close(inner)
        raise
    return inner


def _check_open(codebase: Codebase, descriptor: int) -> None:
    state = os.fstat(descriptor)
    if (state.st_dev, state.st_ino) in codebase.closed:
        raise _not_found()


def _read(codebase: Codebase, directory: int, names: tuple[str, ...]) -> bytes | None:
    if "/".join(names) not in codebase.files or not is_readable_name(names[-1]):
        return None
    try:
        descriptor = os.open(names[-1], _FLAGS, dir_fd=directory)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb", buffering=0) as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or (state.st_dev, state.st_ino) in codebase.closed:
            return None
        return file.read(min(state.st_size, MAX_FILE_BYTES) + 1) or b""


def _list(codebase: Codebase, directory: int, names: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    """List what agents may see in a directory, by name; links are left out."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if _is_hidden(entry.name):
                continue
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            path = "/".join((*names, entry.name))
            is_file = stat.S_ISREG(state.st_mode) and path in codebase.files and is_readable_name(entry.name)
            is_directory = stat.S_ISDIR(state.st_mode) and path in codebase.directories
            is_closed = (state.st_dev, state.st_ino) in codebase.closed
            if not is_closed and (is_file or is_directory) and entry.name.isprintable():
                found.append((entry.name, state))
    return sorted(found, key=lambda each: each[0])


def _decode(body: bytes) -> str | None:
    if b"\0" in body:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _not_found() -> NotFound:
    return NotFound("There is no such file or directory that agents may read")
