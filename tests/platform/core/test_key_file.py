"""The file of the secret keys: made once, private, changed whole or not at all, by one command at a time."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openslot.platform.core.errors import StartupError
from openslot.platform.core.secrets import RESTORE, changing_keys, load_secrets, read_key_file, rotate_key_file


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


def test_what_a_killed_command_has_left_is_no_hindrance_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    before = read_key_file(path)
    (tmp_path / "secret.key.4711.0a1b2c3d").write_text("half a key")
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
        "import os, signal; from pathlib import Path; from openslot.platform.core.secrets import changing_keys\n"
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


MALFORMED: list[tuple[bytes | None, str]] = [
    (b"", "it is empty"),
    (b"\n \t\r\n", "it is empty"),
    (b"\xff\xfe" + b"k" * 40, "it is not UTF-8 text"),
    (b"short\n", "each key, one per line, needs 32 characters or more"),
    (b"k" * 40 + b"\nshort\n", "each key, one per line, needs 32 characters or more"),
    (None, "it is a directory"),
]


@pytest.mark.parametrize(("content", "fault"), MALFORMED)
def test_a_file_that_cant_be_used_is_named_with_what_to_do(content: bytes | None, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    for use in (lambda: load_secrets(None, tmp_path), lambda: rotate_key_file(path)):
        with pytest.raises(StartupError) as refused:
            use()
        assert str(refused.value) == f"The secret key in {path} can't be used: {fault}. {RESTORE}"
    assert path.is_dir() if content is None else path.read_bytes() == content


@pytest.mark.parametrize("setting", ["short", " , ", f"{'k' * 40},short"])
def test_the_variable_is_blamed_only_if_it_is_set(setting: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"^OPENSLOT_SECRET_KEY is wrong: each key needs 32 characters or more\.$"):
        load_secrets(setting, tmp_path)


def test_a_file_that_cant_be_read_or_created_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "secret.key").symlink_to(tmp_path / "gone" / "key")
    with pytest.raises(StartupError, match=r"secret\.key can't be used: it can't be read \(No such file"):
        load_secrets(None, tmp_path, is_first=True)
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StartupError, match=r"secret\.key can't be used: it can't be created \(Not a directory\)"):
        load_secrets(None, tmp_path / "file" / "data", is_first=True)


def test_a_file_that_is_broken_while_the_service_runs_leaves_the_keys_as_they_were(tmp_path: Path) -> None:
    secrets = load_secrets(None, tmp_path, is_first=True)
    before = secrets.keys
    for content, _ in MALFORMED[:-1]:
        (tmp_path / "secret.key").write_bytes(content or b"")
        assert (secrets.reload(), secrets.keys) == (False, before)
