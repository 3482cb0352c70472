"""A directory is made a copy of another by copying only what differs: most files of a database never change."""

import os
import shutil
import stat
from pathlib import Path


def make_copy(source: Path, place: Path) -> None:
    """Give a directory the files of another, with their contents, times, modes and owners, and no others."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.copystat(source, place)
    wanted, found = _list(source), _list(place)
    # A directory comes before what is in it, and goes after that.
    for name in sorted(found.keys() - wanted.keys(), reverse=True):
        _remove(place / name)
    for name in sorted(name for name in wanted if found.get(name) != wanted[name]):
        _copy(source / name, place / name)


def _list(root: Path) -> dict[str, tuple[int, ...]]:
    """List what is in a directory, with what differs as soon as one of it was changed."""
    found: dict[str, tuple[int, ...]] = {}
    for directory, directories, files in os.walk(root):
        for name in (*directories, *files):
            path = os.path.join(directory, name)
            state = os.lstat(path)
            owned = (state.st_mode, state.st_uid, state.st_gid)
            is_directory = stat.S_ISDIR(state.st_mode)
            found[os.path.relpath(path, root)] = owned if is_directory else (*owned, state.st_size, state.st_mtime_ns)
    return found


def _remove(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()


def _copy(source: Path, to: Path) -> None:
    if source.is_dir():
        to.mkdir(exist_ok=True)
        shutil.copystat(source, to)
    else:
        shutil.copy2(source, to)
    os.chown(to, source.stat().st_uid, source.stat().st_gid)
