"""What `make test` leaves to `make test-all`: by folder or mark, told in a list, and no promise as a whole."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from proofs.guards import MUTANTS
from tests.support.parts import DAILY, FOLDERS, LIST, REASONS, REST, is_whole, write_list

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/check-it-yourself.md").read_text("utf-8")
PROMISES = {
    title: text
    for title, text in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if "```\n" in text
}
CONFTEST = """
pytest_plugins = ["tests.support.parts", "tests.support.examples"]
"""
TESTS = """
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from tests.support.parts import is_daily, shortened

drawn = []

@shortened
def look():
    return 1 if is_daily() else 2

def test_plain(): pass

@pytest.mark.rest("takes an hour")
def test_long(): pass

def test_walk():
    print("looked", look())

@given(integers())
def test_draws(number): drawn.append(number)

def test_end(): print("drawn", len(drawn))
"""
COUNTING = """
from tests.support.parts import how_many

MANY = how_many(20)

def test_counts(): print("counted", MANY)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tests of every kind."""
    place = tmp_path_factory.mktemp("parts")
    (place / "conftest.py").write_text(CONFTEST)
    (place / "test_kinds.py").write_text(TESTS)
    (place / "test_counting.py").write_text(COUNTING)
    return place


def run(folder: Path, part: str) -> tuple[list[str], str]:
    """Run a part of the tests, and return which have passed and what was printed."""
    results = folder / f"{part}.xml"
    options = ["-c", "pyproject.toml", "--rootdir", str(folder), "--part", part, "-s", "--junitxml", str(results)]
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(str(each.get("name")) for each in ElementTree.parse(results).iter("testcase")), done.stdout


@pytest.mark.rest("starts the runner of the tests")
def test_make_test_leaves_out_what_is_marked_and_shortens_what_draws_or_looks(folder: Path) -> None:
    names, said = run(folder, DAILY)

    assert names == ["test_counts", "test_draws", "test_end", "test_plain", "test_walk"]
    assert ("counted 5" in said, "looked 1" in said, "drawn 25" in said) == (True, True, True)
    assert "make test: 5 passed, 0 failed, 0 error, 0 skipped" in said


@pytest.mark.rest("starts the runner of the tests")
def test_the_rest_is_what_was_left_out_and_what_was_shortened_whole(folder: Path) -> None:
    names, said = run(folder, REST)

    assert names == ["test_counts", "test_draws", "test_long", "test_walk"]
    assert ("counted 20" in said, "looked 2" in said) == (True, True)
    assert "the rest of make test-all: 4 passed, 0 failed, 0 error, 0 skipped" in said


def test_every_folder_that_is_left_out_is_there() -> None:
    assert [folder for folder in FOLDERS if not (ROOT / folder).is_dir()] == []


def test_the_list_names_every_test_that_only_test_all_runs(request: pytest.FixtureRequest) -> None:
    if not is_whole(request.config):
        pytest.skip("only a run of all tests knows all of them")

    assert LIST.read_text("utf-8").splitlines() == [*write_list(request.config.stash[REASONS])], "run make docs"


def test_every_promise_has_a_test_in_make_test(request: pytest.FixtureRequest) -> None:
    if not is_whole(request.config):
        pytest.skip("only a run of all tests knows all of them")
    reasons = request.config.stash[REASONS]
    daily = [name for name, reason in reasons.items() if reason is None]

    assert len(PROMISES) > 25
    assert [title for title, text in PROMISES.items() if not list_daily(text, daily)] == []


def list_daily(text: str, daily: list[str]) -> list[str]:
    """List the tests of `make test` that a promise names, or that one of its mutants must break."""
    named = set(re.findall(r"\btests/[\w/]*\w(?:\.py(?:::\w+)?)?", text))
    named |= {each.test for each in MUTANTS if f"`{each.name}`" in text}
    pattern = re.compile(f"(?:{'|'.join(map(re.escape, named)) or '(?!)'})(?!\\w)")
    return [test for test in daily if pattern.match(test)]
