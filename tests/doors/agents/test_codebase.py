"""What agents can read of the source code: nothing outside the root, nothing secret, within time and size."""

import os
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import PathDistribution
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.doors.agents import codebase
from openslot.doors.agents.codebase import (
    Codebase,
    find_codebase,
    list_directory,
    list_packaged,
    parents_of,
    read_file,
    read_path,
    search_files,
)
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import list_secret_files, load_settings
from openslot.platform.core.errors import Invalid, NotFound, StartupError
from tests.support.repositories import track

SECRET = "hunter2-secret"
in_a_checkout = pytest.mark.skipif(
    not (Path(__file__).parents[3] / ".git").exists(), reason="this copy is no checkout: git lists no file of it"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root with code, and with everything that must not be read, beside a file outside."""
    root = tmp_path / "root"
    for name in ("src/inner", ".git", ".venv", "data", "__pycache__", "Node_Modules"):
        (root / name).mkdir(parents=True)
    (root / "src/app.py").write_text("one\ntwo\nthree\n")
    (root / "src/inner/notes.md").write_text("Nothing here\n")
    for name in (
        *(".env", ".env.local.md", ".git/config.md", ".venv/lib.py", "data/notes.md", "__pycache__/app.py"),
        *(
            "Node_Modules/app.py",
            "server.key",
            "id_rsa",
            "cert.pem",
            "dump.sqlite",
            "backup.tar",
            "secrets.json",
            "Credentials.JSON",
        ),
        *("api-token.txt", "settings.toml", "compose.yaml", "config.yml", "prod.env", "env.txt"),
        "passwords.txt",
    ):
        (root / name).write_text(SECRET)
    (tmp_path / "outside.md").write_text(SECRET)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/app.py").write_text(SECRET)
    return root


def tracked(folder: Path, *, data_dir: Path | None = None) -> Codebase:
    """Have git track all that is in the root, the secrets too."""
    track(folder)
    return find_codebase(Settings(codebase_root=folder, data_dir=data_dir or folder / "data"))


def tracking(code: Codebase, *paths: str) -> Codebase:
    """Return the codebase as if git tracked these, too."""
    files = code.files | set(paths)
    return replace(code, files=files, directories=parents_of(files))


@pytest.fixture
def code(folder: Path) -> Codebase:
    return tracked(folder)


def read(code: Codebase, path: str, start: int = 1, end: int | None = None) -> Any:
    return read_file(code, path, start_line=start, end_line=end)


def walk(code: Codebase, path: str = "") -> Iterator[str]:
    for entry in list_directory(code, path)[0]:
        yield entry.path
        if entry.is_directory:
            yield from walk(code, entry.path)


def test_code_is_read_listed_and_found(code: Codebase) -> None:
    shown = read(code, "src/app.py", 2)

    assert (shown.text, shown.start_line, shown.end_line, shown.total_lines, shown.is_cut) == (
        "two\nthree",
        2,
        3,
        3,
        False,
    )
    assert list(walk(code)) == ["src", "src/app.py", "src/inner", "src/inner/notes.md"]
    found = search_files(code, "THREE", "", limit=5)
    assert [(each.path, each.line, each.text) for each in found.matches] == [("src/app.py", 3, "three")]
    assert (found.files_searched, found.is_complete) == (2, True)
    assert [each.line for each in search_files(code, "NOTES", "src", limit=5).matches] == [None]
    assert [each.line for each in search_files(code, "two", "src/app.py", limit=5).matches] == [2]


OUTSIDE = [
    *("../outside.md", "src/../../outside.md", "src/..", "..", "/etc/passwd", "//etc/passwd", "src/inner/../../../x"),
    *(".git/config.md", ".GIT/config.md", "src/../.git/config.md", "./.git/config.md", ".venv/lib.py", ".env"),
    *(".ENV", ".env.local.md", "data/notes.md", "server.key", "id_rsa", "cert.pem", "dump.sqlite", "backup.tar"),
    *("secrets.json", "Credentials.JSON", "api-token.txt", "settings.toml", "compose.yaml", "config.yml", "prod.env"),
    *("env.txt", "passwords.txt", "src/app.py\0.md", "\0", "src\0/app.py", "src/app.py/x", "", "src"),
    *(
        "__pycache__/app.py",
        "Node_Modules/app.py",
        "x/" * 40 + "a.py",
        "src/none.py",
        "SRC/\ud800.py",
        "a" * 500 + ".py",
    ),
]


@pytest.mark.parametrize("path", OUTSIDE, ids=ascii)
def test_what_is_outside_hidden_or_missing_does_not_exist(code: Codebase, path: str) -> None:
    with pytest.raises(NotFound) as refused:
        read(code, path)
    assert SECRET not in str(refused.value)
    if path not in {"", "src"}:
        with pytest.raises(NotFound):
            list_directory(code, path)
        with pytest.raises(NotFound):
            search_files(code, "hunter2", path, limit=5)


def test_no_secret_is_found_by_searching_everything(code: Codebase) -> None:
    assert search_files(code, "hunter2", "", limit=100).matches == []


@pytest.mark.parametrize("kind", ["file", "directory", "chain", "relative"])
def test_links_are_neither_followed_nor_listed(code: Codebase, folder: Path, kind: str) -> None:
    outside = folder.parent
    if kind == "file":
        (folder / "link.md").symlink_to(outside / "outside.md")
    elif kind == "directory":
        (folder / "linked").symlink_to(outside / "beside")
    elif kind == "chain":
        (folder / "src/first").symlink_to(folder / "src/second")
        (folder / "src/second").symlink_to(outside / "beside")
    else:
        (folder / "src/link.md").symlink_to("../../outside.md")
    paths = ("link.md", "linked/app.py", "src/first/app.py", "src/second/app.py", "src/link.md")
    code = tracking(code, *paths)
    for path in paths:
        with pytest.raises(NotFound):
            read(code, path)

    assert list(walk(code)) == ["src", "src/app.py", "src/inner", "src/inner/notes.md"]
    assert search_files(code, "hunter2", "", limit=9).matches == []


def test_the_data_directory_is_closed_under_every_name(folder: Path) -> None:
    (folder / "else").mkdir()
    (folder / "else/app.py").write_text(SECRET)
    code = tracked(folder, data_dir=folder / "else")
    with pytest.raises(NotFound):
        read(code, "else/app.py")
    assert [each.path for each in search_files(code, "hunter2", "", limit=9).matches] == ["data/notes.md"]
    assert "else" not in list(walk(code))

    for data_dir in (folder, folder.parent):
        closed = find_codebase(Settings(codebase_root=folder, data_dir=data_dir))
        with pytest.raises(NotFound):
            read(closed, "src/app.py")


def test_files_that_hold_settings_are_closed(folder: Path) -> None:
    (folder / "smtp.txt").write_text(SECRET)
    (folder / "conf.md").write_text(SECRET)
    environ = {"OPENSLOT_SMTP_URL_FILE": f" {folder / 'smtp.txt'} "}
    assert set(list_secret_files(environ, folder / "conf.md")) == {folder / "smtp.txt", folder / "conf.md"}
    found = tracked(folder)
    closed = {(state.st_dev, state.st_ino) for state in ((folder / "smtp.txt").stat(), (folder / "conf.md").stat())}
    code = replace(found, closed=found.closed | closed)
    for path in ("smtp.txt", "conf.md"):
        with pytest.raises(NotFound):
            read(code, path)
    assert search_files(code, "hunter2", "", limit=9).matches == []


def test_pipes_sockets_and_devices_are_not_opened(code: Codebase, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.md"))
    names = ["pipe.md", "socket.md"]
    if os.geteuid() == 0:
        try:
            os.mknod(folder / "zero.md", 0o20666, os.makedev(1, 5))
            names.append("zero.md")
        except PermissionError:
            pass
    code = tracking(code, *names)
    began = perf_counter()
    for name in names:
        with pytest.raises(NotFound):
            read(code, name)
    search_files(code, "x", "", limit=9)
    assert set(names).isdisjoint(walk(code))
    assert perf_counter() - began < 1


def test_huge_and_binary_files_are_refused_with_the_reason(code: Codebase, folder: Path) -> None:
    with (folder / "huge.md").open("wb") as file:
        file.truncate(5_000_000_000)
    (folder / "binary.md").write_bytes(b"needle\0\1")
    (folder / "latin.md").write_bytes(b"needle \xff\xfe")
    (folder / "edge.md").write_text("a" * codebase.MAX_FILE_BYTES)
    code = tracking(code, "huge.md", "binary.md", "latin.md", "edge.md")
    began = perf_counter()
    for path, reason in (("huge.md", "at most"), ("binary.md", "text file"), ("latin.md", "text file")):
        with pytest.raises(Invalid) as refused:
            read(code, path)
        assert reason in (refused.value.details or {})["path"]
    assert search_files(code, "needle", "", limit=9).matches == []
    assert read(code, "edge.md").is_cut
    assert perf_counter() - began < 1


def test_a_file_is_shown_in_pieces(code: Codebase, folder: Path) -> None:
    code = tracking(code, "long.md", "wide.md")
    (folder / "long.md").write_text("\n".join(f"line {number}" for number in range(1, 5_001)))
    first = read(code, "long.md")
    assert (first.end_line, first.total_lines, first.is_cut) == (2_000, 5_000, True)
    last = read(code, "long.md", 4_990)
    assert (last.text.splitlines()[0], last.end_line, last.is_cut) == ("line 4990", 5_000, False)
    assert read(code, "long.md", 3, 3).text == "line 3"
    for start, end, field in ((5_001, None, "startLine"), (3, 2, "endLine")):
        with pytest.raises(Invalid) as refused:
            read(code, "long.md", start, end)
        assert set(refused.value.details or {}) == {field}
    (folder / "wide.md").write_text("\n".join(["w" * 3_000] * 200))
    wide = read(code, "wide.md")
    assert (len(wide.text) <= codebase.MAX_CHARACTERS, wide.is_cut) == (True, True)


def test_a_search_ends_in_time_and_says_what_is_missing(code: Codebase, folder: Path) -> None:
    for number in range(60):
        (folder / f"many{number}.md").write_text("needle\n" * 3)
    code = tracked(folder)
    assert not search_files(code, "in no file", "", limit=100, within=timedelta()).is_complete
    few = search_files(code, "needle", "", limit=100)
    assert (len(few.matches), few.is_complete) == (100, False)
    one = search_files(code, "needle", "many1.md", limit=2)
    assert (len(one.matches), one.is_complete) == (2, False)
    assert len(list_directory(code, "")[0]) == 61


@pytest.mark.rest("waits for seconds")
def test_whoever_swaps_a_directory_for_a_link_gains_nothing(code: Codebase, folder: Path) -> None:
    """A directory and a file become links to the outside and back, as fast as possible, while they are read."""
    real, parked, link = folder / "src", folder / ".parked", folder / ".link"
    file, file_parked = folder / "top.md", folder / ".top"
    file.write_text("one\n")
    code = tracking(code, "top.md")
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            link.symlink_to(folder.parent / "beside")
            real.rename(parked)
            link.rename(real)
            real.unlink()
            parked.rename(real)
            link.symlink_to(folder.parent / "outside.md")
            file.rename(file_parked)
            link.rename(file)
            file.unlink()
            file_parked.rename(file)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    ends_at = perf_counter() + 1.5
    try:
        while perf_counter() < ends_at:
            for path in ("src/app.py", "top.md"):
                try:
                    seen.add(read(code, path).text)
                except NotFound:
                    seen.add("not found")
            assert search_files(code, "hunter2", "", limit=5).matches == []
    finally:
        stopped.set()
        swapping.join()
    assert seen == {"one\ntwo\nthree", "one", "not found"}


def test_what_git_does_not_track_does_not_exist(code: Codebase, folder: Path) -> None:
    """What an operator has left beside the source code, after the last commit."""
    (folder / "dump").mkdir()
    paths = ("notes.md", "src/draft.py", "src/inner/customers.json", "dump/rows.sql")
    for path in paths:
        (folder / path).write_text(SECRET)
    for path in paths:
        with pytest.raises(NotFound):
            read(code, path)
    with pytest.raises(NotFound):
        list_directory(code, "dump")
    assert list(walk(code)) == ["src", "src/app.py", "src/inner", "src/inner/notes.md"]
    assert search_files(code, "hunter2", "", limit=9).matches == []
    assert read(find_codebase(Settings(codebase_root=folder / "src", data_dir=folder / "data")), "app.py").text


def test_without_git_and_package_nothing_is_read(folder: Path) -> None:
    (folder / ".git/config.md").unlink()
    (folder / ".git").rmdir()
    bare = find_codebase(Settings(codebase_root=folder, data_dir=folder / "data"))

    assert list(walk(bare)) == []
    with pytest.raises(NotFound):
        read(bare, "src/app.py")


def test_an_installed_package_is_read_by_its_own_list(tmp_path: Path) -> None:
    site, about = tmp_path / "site", tmp_path / "site/openslot-1.dist-info"
    for path in ("openslot/app.py", "openslot/doors/web/page.html", "openslot/left.py", "other/app.py"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text("text\n")
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: openslot\nVersion: 1\n")
    (about / "RECORD").write_text("openslot/app.py,,\nopenslot/doors/web/page.html,,\n../../bin/openslot,,\n")
    installed = PathDistribution(about)

    assert list_packaged(site / "openslot", installed) == {"app.py", "doors/web/page.html"}
    assert list_packaged(site, installed) == {"openslot/app.py", "openslot/doors/web/page.html"}
    assert list_packaged(site / "other", installed) == frozenset()


@in_a_checkout
def test_the_default_is_the_running_installations_own_source(settings: Settings) -> None:
    code = find_codebase(settings)

    assert "def find_codebase" in read(code, "openslot/doors/agents/codebase.py").text
    assert read_path("a/./b//c") == ("a", "b", "c")


@in_a_checkout
def test_the_whole_package_is_searched(settings: Settings) -> None:
    found = search_files(find_codebase(settings), "no such text in any file of " + "openslot", "openslot", limit=50)

    assert (found.is_complete, found.matches) == (True, [])
    assert found.files_searched > 500


def test_a_root_that_is_no_directory_is_refused_at_the_start(tmp_path: Path) -> None:
    environ = {"OPENSLOT_CODEBASE_ROOT": str(tmp_path / "none")}
    with pytest.raises(StartupError, match="OPENSLOT_CODEBASE_ROOT is wrong: it must be a directory"):
        load_settings(environ=environ, dotenv=tmp_path / "no")
    (tmp_path / "none").mkdir()
    assert load_settings(environ=environ, dotenv=tmp_path / "no").codebase_root == tmp_path / "none"
