"""A copy is made equal again, whatever was done to it."""

from pathlib import Path

import pytest

from tests.cli.copies import make_copy


def read(place: Path) -> dict[str, tuple[int, str | None]]:
    return {
        str(path.relative_to(place)): (path.stat().st_mode, path.read_text() if path.is_file() else None)
        for path in place.rglob("*")
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory with files in it."""
    (tmp_path / "source" / "base" / "1").mkdir(parents=True)
    (tmp_path / "source" / "base" / "1" / "PG_VERSION").write_text("18\n")
    (tmp_path / "source" / "key").write_text("secret")
    (tmp_path / "source" / "key").chmod(0o600)
    return tmp_path / "source"


def test_a_copy_that_was_changed_is_made_equal_again(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "new" / "copy"
    make_copy(source, place)
    wanted = read(source)
    assert read(place) == wanted

    (place / "base" / "1" / "PG_VERSION").write_text("15\n")
    (place / "base" / "2" / "deep").mkdir(parents=True)
    (place / "base" / "2" / "deep" / "file").touch()
    (place / "key").chmod(0o644)
    make_copy(source, place)
    assert read(place) == wanted

    (place / "key").unlink()
    (place / "base").chmod(0o700)
    make_copy(source, place)
    assert read(place) == wanted


def test_what_is_equal_is_not_written_again(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    make_copy(source, place)
    number = (place / "key").stat().st_ctime_ns
    make_copy(source, place)
    assert (place / "key").stat().st_ctime_ns == number
