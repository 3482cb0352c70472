"""Tests in several processes: none is lost, and what they say is told."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.forked import ROOT

FAIR = """
import os, pytest

@pytest.fixture(scope="module")
def process():
    print("made for the file")
    yield os.getpid()

@pytest.mark.parametrize("n", range(20))
def test_passes(n, process):
    assert os.getpid() == process
"""
FAILING = """
import warnings

def test_fails():
    print("printed by the test")
    assert [1, 2] == [1, 3]

def test_warns():
    warnings.warn("a warning")
"""
PRINTING = """
import time

def test_prints():
    for n in range(20):
        print("line", n, "of {name};")
        time.sleep(0.01)
    assert False
"""
CRASHING = """
import os

def test_before(): pass
def test_crashes(): os._exit(3)
def test_after(): pass
"""
WITHDRAWING = """
from pathlib import Path
from tests.support.processes import Tickets

withdraw = Tickets.withdraw

def withdraw_and_tell(tickets):
    withdraw(tickets)
    Path({place!r}).touch()

Tickets.withdraw = withdraw_and_tell
"""
# None is passed before no further file is to be had, unless that takes a minute in all.
WAITING = """
import time
from pathlib import Path

def test_waits():
    began = Path(__file__).stat().st_mtime
    while not Path({place!r}).exists() and time.time() < began + 60:
        time.sleep(0.01)
"""


def run(folder: Path, *arguments: str) -> tuple[int, str, dict[str, str]]:
    """Run the tests of a folder in three processes: exit code, what was printed, what came of each test."""
    results = folder / "results.xml"
    options = ["-c", "pyproject.toml", "-p", "tests.support.processes", "--processes", "3", "--junitxml", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), *arguments, str(folder)],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    cases = ElementTree.parse(results).iter("testcase")
    return (
        done.returncode,
        done.stdout,
        {f"{case.get('classname')}.{case.get('name')}": _outcome(case) for case in cases},
    )


def _outcome(case: ElementTree.Element) -> str:
    return next((child.tag for child in case if child.tag in {"failure", "error", "skipped"}), "passed")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, dict[str, str]]:
    """What a run of good and bad tests tells."""
    folder = tmp_path_factory.mktemp("tests")
    for number in range(6):
        (folder / f"test_fair_{number}.py").write_text(FAIR)
    (folder / "test_failing.py").write_text(FAILING)
    (folder / "test_crashing.py").write_text(CRASHING)
    for name in ("Mara", "Ada"):
        (folder / f"test_a_{name}.py").write_text(PRINTING.format(name=name))
    return run(folder)


def test_every_test_is_run_once_and_those_of_a_file_in_one_process(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, outcomes = told
    assert [outcomes[f"test_fair_{file}.test_passes[{n}]"] for file in range(6) for n in range(20)] == 120 * ["passed"]
    assert "6 failed, 121 passed" in said


def test_a_failure_is_told_with_what_the_test_printed_and_compared(told: tuple[int, str, dict[str, str]]) -> None:
    code, said, outcomes = told
    assert (code, outcomes["test_failing.test_fails"], outcomes["test_failing.test_warns"]) == (1, "failure", "failure")
    assert "printed by the test" in said
    assert "At index 1 diff: 2 != 3" in said
    assert "UserWarning: a warning" in said


def test_what_tests_print_at_the_same_time_is_told_apart(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, _ = told
    for name in ("Mara", "Ada"):
        assert "\n".join(f"line {n} of {name};" for n in range(20)) in said


def test_tests_of_a_process_that_ends_are_not_taken_for_passed(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, outcomes = told
    crashing = [outcomes[f"test_crashing.test_{name}"] for name in ("before", "crashes", "after")]
    assert crashing == ["passed", "failure", "failure"]
    assert "the exit codes of the processes are" in said


def test_a_run_that_ends_at_the_first_failure_begins_no_further_files(tmp_path: Path) -> None:
    (tmp_path / "test_a_failing.py").write_text("def test_fails(): assert False")
    (tmp_path / "conftest.py").write_text(WITHDRAWING.format(place=str(tmp_path / "withdrawn")))
    for number in range(100):
        (tmp_path / f"test_slow_{number}.py").write_text(WAITING.format(place=str(tmp_path / "withdrawn")))
    code, said, outcomes = run(tmp_path, "--exitfirst")
    assert (code, outcomes["test_a_failing.test_fails"]) == (1, "failure")
    assert len(outcomes) < 100
    assert "stopping after 1 failures" in said
