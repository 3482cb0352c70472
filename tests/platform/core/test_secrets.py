"""Secrets at rest: sealed by the newest key, opened by every one, also by one that came while we ran."""

from pathlib import Path

import pytest

from openslot.platform.core.errors import StartupError
from openslot.platform.core.secrets import SealBroken, Secrets, load_secrets, name_of, read_key_file, rotate_key_file

OLD, NEW = "o" * 40, "n" * 40


def test_what_is_sealed_opens_again_and_does_not_show() -> None:
    secrets = Secrets((OLD,))
    sealed = secrets.seal("whsec_ünïcode")

    assert secrets.open(sealed) == "whsec_ünïcode"
    assert b"whsec" not in sealed
    assert secrets.seal("same") != secrets.seal("same")


def test_after_a_rotation_old_seals_open_and_can_be_renewed() -> None:
    sealed = Secrets((OLD,)).seal("token")
    both = Secrets((NEW, OLD))
    renewed = both.reseal(sealed)

    assert both.open(sealed) == "token"
    assert Secrets((NEW,)).open(renewed) == "token"
    with pytest.raises(SealBroken):
        Secrets((NEW,)).open(sealed)


@pytest.mark.parametrize("damage", [b"", b"x", b"gAAAA", b"\x00\xff"])
def test_a_damaged_seal_is_refused(damage: bytes) -> None:
    with pytest.raises(SealBroken):
        Secrets((OLD,)).open(damage)
    with pytest.raises(SealBroken):
        Secrets((OLD,)).reseal(damage)


@pytest.mark.parametrize("configured", ["", "short", f"{NEW},short", ","])
def test_a_weak_key_is_refused_at_the_start(configured: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="OPENSLOT_SECRET_KEY"):
        load_secrets(configured, tmp_path)


def test_a_key_that_was_put_into_the_file_since_opens_at_once(tmp_path: Path) -> None:
    running = load_secrets(None, tmp_path, is_first=True)
    before = running.seal("before")
    rotate_key_file(tmp_path / "secret.key")
    started = load_secrets(None, tmp_path)

    assert not running.opens(started.seal("after"))
    assert running.open(started.seal("after")) == "after"
    assert running.keys == started.keys
    assert running.open(before) == "before"
    assert Secrets(started.keys[:1]).open(running.seal("later")) == "later"


def test_keys_from_the_setting_stay_as_they_are(tmp_path: Path) -> None:
    read_key_file(tmp_path / "secret.key")
    running = load_secrets(OLD, tmp_path)
    with pytest.raises(SealBroken):
        running.open(load_secrets(None, tmp_path).seal("from the file"))

    assert not running.reload()
    assert running.keys == (OLD,)


@pytest.mark.parametrize("content", [None, b"", b"short\n", b"\xff" * 40])
def test_a_file_that_holds_no_keys_takes_none_away(content: bytes | None, tmp_path: Path) -> None:
    running = load_secrets(None, tmp_path, is_first=True)
    sealed, path = running.seal("token"), tmp_path / "secret.key"
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    assert not running.reload()
    assert running.open(sealed) == "token"


def test_what_the_newest_key_has_sealed_is_not_sealed_again() -> None:
    both = Secrets((NEW, OLD))
    sealed = both.seal("token")

    assert both.reseal(sealed) == sealed
    assert both.newest().keys == (NEW,)


def test_a_key_is_found_by_a_name_that_tells_nothing_about_it() -> None:
    both = Secrets((NEW, OLD))
    found = both.find(name_of(OLD))

    assert found is not None
    assert found.keys == (OLD,)
    assert both.find(name_of("x" * 40)) is None
    assert (len(name_of(OLD)), OLD.encode() in name_of(OLD)) == (16, False)


def test_a_key_that_was_put_into_the_file_since_is_found(tmp_path: Path) -> None:
    running = load_secrets(None, tmp_path, is_first=True)
    new, old = rotate_key_file(tmp_path / "secret.key")
    found = running.find(name_of(new))

    assert found is not None
    assert list(found.keys) == [new]
    assert list(running.keys) == [new, old]
