"""The program names the commit that it was built from: what a build has written down, else what is checked out."""

import subprocess
from pathlib import Path

import pytest

from openslot.platform.core.build import find_commit

GIT = ["git", "-c", "user.name=Ida", "-c", "user.email=ida@lindqvist.example", "-c", "commit.gpgsign=false"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    place = tmp_path / "openslot"
    place.mkdir()
    return place


def check_out(place: Path) -> str:
    """Make a repository with one commit, and return its id."""
    for command in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "First"]):
        subprocess.run([*GIT, *command], cwd=place, check=True)
    return subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=place, check=True, capture_output=True, text=True).stdout


def test_a_checkout_names_the_commit_that_is_checked_out(package: Path) -> None:
    commit = check_out(package.parent)

    assert find_commit(package) == commit[:12]


def test_what_a_build_has_written_down_comes_first(package: Path) -> None:
    check_out(package.parent)
    (package / "COMMIT").write_text("0123456789ab\n")

    assert find_commit(package) == "0123456789ab"


def test_an_installed_package_does_not_ask_a_repository_further_up(package: Path) -> None:
    check_out(package.parent)
    (package / "openslot").mkdir()

    assert find_commit(package / "openslot") is None


def test_what_is_no_repository_has_no_commit(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_commit(package) is None
    (package.parent / ".git").mkdir()
    assert find_commit(package) is None
    monkeypatch.setenv("PATH", "")
    assert find_commit(package) is None
