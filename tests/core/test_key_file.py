"""The file of the secret keys: made once, private, changed whole or not at all, by one command at a time."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openslot.core.errors import StartupError
from openslot.core.key_file import changing_keys, read_key_file, rotate_key_file


def test_the_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret.key"
    first = read_key_file(path)

    assert read_key_file(path) == first
    assert path.stat().st_mode & 0o777 == 0o600


def test_starters_that_race_for_the_key_file_get_the_same_key(tmp_path: Path) -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(read_key_file(tmp_path / "k"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 20
    assert all(keys == found[0] for keys in found)
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_a_rotated_file_puts_the_new_key_first(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    (old,) = read_key_file(path)
    rotate_key_file(path)

    keys = read_key_file(path)
    assert keys[1:] == [old]
    assert keys[0] != old
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("leftover", ["secret.key.new", "secret.key.4711.0a1b2c3d"])
def test_what_a_killed_command_has_left_is_no_hindrance_and_goes(leftover: str, tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = read_key_file(path)
    (tmp_path / leftover).write_text("half a key")
    (tmp_path / "secret.key.backup").write_text("the operator's own")

    assert rotate_key_file(path)[1:] == before
    assert rotate_key_file(path)[2:] == before
    assert {file.name for file in tmp_path.iterdir()} == {"secret.key", "secret.key.backup", "secret.key.lock"}


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = read_key_file(path)
    with pytest.raises(RuntimeError), changing_keys(path, lambda keys: ["x" * 40, *keys]):
        raise RuntimeError

    assert read_key_file(path) == before
    assert {file.name for file in tmp_path.iterdir()} == {"secret.key", "secret.key.lock"}


def test_a_change_is_refused_while_another_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    (old,) = read_key_file(path)
    with changing_keys(path, lambda keys: ["x" * 40, *keys]):
        with pytest.raises(StartupError, match=r"Another command is changing .*secret\.key right now"):
            rotate_key_file(path)
        assert read_key_file(path) == [old]

    assert read_key_file(path) == ["x" * 40, old]


def test_a_command_that_is_killed_in_the_middle_hinders_nobody(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = read_key_file(path)
    script = (
        "import os, signal; from pathlib import Path; from openslot.core.key_file import changing_keys\n"
        f"with changing_keys(Path({str(path)!r}), lambda keys: ['x' * 40, *keys]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)

    assert killed.returncode == -9
    assert len(list(tmp_path.glob("secret.key.*.*"))) == 1
    assert read_key_file(path) == before
    assert rotate_key_file(path)[1:] == before
    assert {file.name for file in tmp_path.iterdir()} == {"secret.key", "secret.key.lock"}


def test_a_file_that_root_changes_stays_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    read_key_file(path)
    owner = (12345, 12346) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(path, *owner)
    rotate_key_file(path)

    assert (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode & 0o777) == (*owner, 0o600)
