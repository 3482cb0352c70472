"""Tests in several processes: none is lost, and what they say is told."""

import os
import signal
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from tests.support.forked import ROOT
from tests.support.parts import has_long_form
from tests.support.promises import PROMISES, is_promise

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
# The first waits for what never comes, and has started a process that would go on for an hour.
STUCK = """
import asyncio, subprocess
from pathlib import Path

import pytest

async def wait_for_nothing():
    await asyncio.get_running_loop().create_future()

async def test_waits_for_ever():
    started = subprocess.Popen(["sleep", "3600"])
    Path(__file__).with_name("started").write_text(str(started.pid))
    await wait_for_nothing()

@pytest.mark.parametrize("n", range(30))
def test_after(n): pass
"""
LIMIT = """
def test_limit(pytestconfig):
    assert pytestconfig.getoption("max_seconds") == {seconds}
"""
# Lets no other thread of its process run.
HOLDING = """
import ctypes

def test_lets_nobody_run():
    ctypes.PyDLL(None).pause()
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

# Each waits until another process runs one too, unless that takes a minute; a process takes the next one in advance.
SPREAD = """
import os, time
from pathlib import Path

import pytest

@pytest.mark.promise
@pytest.mark.spread
@pytest.mark.parametrize("n", range(4))
def test_waits_for_another(n):
    place = Path(__file__).parent
    (place / f"{os.getpid()}.process").touch()
    while len(list(place.glob("*.process"))) < 2 and time.time() < Path(__file__).stat().st_mtime + 60:
        time.sleep(0.01)
    assert len(list(place.glob("*.process"))) > 1
"""

# Each kind of test appends a letter to a file of its own whenever it is run.
TRIED = """
import os, pytest
from pathlib import Path

@pytest.fixture
def tries(request):
    with Path(__file__).with_name(request.node.name + ".tries").open("a+") as file:
        file.write("x")
        file.flush()
        file.seek(0)
        yield len(file.read())

def test_once(tries):
    assert tries > 1, "the machine is busy"

def test_twice(tries):
    assert tries > 2

@pytest.mark.promise
def test_promise(tries):
    assert tries > 1

@pytest.fixture
def busy(tries):
    yield
    assert tries > 1

def test_teardown(busy): pass

def test_crash_at_second(tries):
    if tries == 2: os._exit(3)
    assert False
"""
MANY = """
@pytest.mark.parametrize("n", range(21))
def test_lots(n, tries):
    assert tries > 1
"""


def run(folder: Path, *arguments: str, long: str = "") -> tuple[int, str, dict[str, str]]:
    """Run the tests of a folder in three processes: exit code, what was printed, what came of each test."""
    results = folder / "results.xml"
    options = ["-c", "pyproject.toml", "-p", "tests.support.processes", "--processes", "3", "--junitxml", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), *arguments, str(folder)],
        check=False,
        cwd=ROOT,
        env={**os.environ, "OPENSLOT_LONG": long},
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


@pytest.mark.rest("starts the runner of the tests")
def test_every_test_is_run_once_and_those_of_a_file_in_one_process(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, outcomes = told
    assert [outcomes[f"test_fair_{file}.test_passes[{n}]"] for file in range(6) for n in range(20)] == 120 * ["passed"]
    assert "5 failed, 122 passed" in said


@pytest.mark.rest("starts the runner of the tests")
def test_a_failure_is_told_with_what_the_test_printed_and_compared(told: tuple[int, str, dict[str, str]]) -> None:
    code, said, outcomes = told
    assert (code, outcomes["test_failing.test_fails"], outcomes["test_failing.test_warns"]) == (1, "failure", "failure")
    assert "printed by the test" in said
    assert "At index 1 diff: 2 != 3" in said
    assert "UserWarning: a warning" in said


@pytest.mark.rest("starts the runner of the tests")
def test_what_tests_print_at_the_same_time_is_told_apart(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, _ = told
    for name in ("Mara", "Ada"):
        assert "\n".join(f"line {n} of {name};" for n in range(20)) in said


@pytest.mark.rest("starts the runner of the tests")
def test_tests_of_a_process_that_ends_are_not_taken_for_passed(told: tuple[int, str, dict[str, str]]) -> None:
    _, said, outcomes = told
    crashing = [outcomes[f"test_crashing.test_{name}"] for name in ("before", "crashes", "after")]
    assert crashing == ["passed", "failure", "passed"]
    assert "the exit code of its process is 3" in said
    assert "test_crashing.py::test_after (call: This test did not end" in said.partition(" Failed once ")[2]


def goes_on(pid: int) -> bool:
    """Tell whether a process is there that has not ended, whether or not somebody has asked for its exit code."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.rest("starts the runner of the tests")
def test_a_test_that_does_not_end_is_ended_and_says_where_it_waits(tmp_path: Path) -> None:
    (tmp_path / "test_stuck.py").write_text(STUCK)
    (tmp_path / "test_fair.py").write_text(FAIR)
    code, said, outcomes = run(tmp_path, "--max-seconds", "3")
    assert (code, outcomes["test_stuck.test_waits_for_ever"]) == (1, "failure")
    assert "in wait_for_nothing" in said
    assert not goes_on(int((tmp_path / "started").read_text()))
    assert "1 failed, 50 passed" in said


@pytest.mark.rest("starts the runner of the tests")
@pytest.mark.parametrize(("long", "seconds"), [("", 900), ("1", 3600)])
def test_a_test_may_take_longer_with_its_long_count(tmp_path: Path, long: str, seconds: int) -> None:
    (tmp_path / "test_limit.py").write_text(LIMIT.format(seconds=seconds))
    code, said, _ = run(tmp_path, long=long)
    assert code == 0, said


@pytest.mark.rest("starts the runner of the tests")
def test_a_process_that_can_not_end_itself_is_ended(tmp_path: Path) -> None:
    (tmp_path / "test_holding.py").write_text(HOLDING)
    (tmp_path / "conftest.py").write_text("from tests.support import processes\n\nprocesses.GRACE = 1.0\n")
    code, said, outcomes = run(tmp_path, "--max-seconds", "1")
    assert (code, outcomes) == (1, {"test_holding.test_lets_nobody_run": "failure"})
    assert f"the exit code of its process is {-signal.SIGABRT}" in said


@pytest.mark.rest("starts the runner of the tests")
def test_a_run_that_ends_at_the_first_failure_begins_no_further_files(tmp_path: Path) -> None:
    (tmp_path / "test_a_failing.py").write_text("def test_fails(): assert False")
    (tmp_path / "conftest.py").write_text(WITHDRAWING.format(place=str(tmp_path / "withdrawn")))
    for number in range(100):
        (tmp_path / f"test_slow_{number}.py").write_text(WAITING.format(place=str(tmp_path / "withdrawn")))
    code, said, outcomes = run(tmp_path, "--exitfirst")
    assert (code, outcomes["test_a_failing.test_fails"]) == (1, "failure")
    assert len(outcomes) < 100
    assert "stopping after 1 failures" in said


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, dict[str, str]]:
    """A run in which tests fail once, twice, and though they hold a promise."""
    folder = tmp_path_factory.mktemp("tried")
    (folder / "test_tried.py").write_text(TRIED)
    return folder, *run(folder)


@pytest.mark.rest("starts the runner of the tests")
def test_what_passes_at_the_second_try_is_passed_and_named(tried: tuple[Path, int, str, dict[str, str]]) -> None:
    _, _, said, outcomes = tried
    assert (outcomes["test_tried.test_once"], outcomes["test_tried.test_teardown"]) == ("passed", "passed")
    named = said.partition(" Failed once ")[2]
    assert "test_tried.py::test_once (call: AssertionError: the machine is busy" in named
    assert "test_tried.py::test_teardown (teardown: " in named
    assert "test_tried.py::test_twice (" not in named


@pytest.mark.rest("starts the runner of the tests")
def test_a_run_in_which_all_pass_at_the_second_try_is_green(tmp_path: Path) -> None:
    (tmp_path / "test_tried.py").write_text(TRIED)
    code, said, _ = run(tmp_path, "-k", "test_once or test_teardown")
    assert (code, "2 passed" in said) == (0, True), said


@pytest.mark.rest("starts the runner of the tests")
def test_what_fails_twice_is_failed_after_two_tries(tried: tuple[Path, int, str, dict[str, str]]) -> None:
    folder, code, _, outcomes = tried
    assert (code, outcomes["test_tried.test_twice"]) == (1, "failure")
    assert (folder / "test_twice.tries").read_text() == "xx"
    assert (outcomes["test_tried.test_crash_at_second"]) == "failure"


@pytest.mark.rest("starts the runner of the tests")
def test_a_promise_has_no_second_try(tried: tuple[Path, int, str, dict[str, str]]) -> None:
    folder, _, _, outcomes = tried
    assert outcomes["test_tried.test_promise"] == "failure"
    assert (folder / "test_promise.tries").read_text() == "x"


@pytest.mark.rest("starts the runner of the tests")
def test_tests_of_a_file_are_spread_if_they_say_so(tmp_path: Path) -> None:
    (tmp_path / "test_spread.py").write_text(SPREAD)
    code, said, _ = run(tmp_path)
    assert code == 0, said


@pytest.mark.rest("starts the runner of the tests")
def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    (tmp_path / "test_tried.py").write_text(TRIED + MANY)
    code, said, _ = run(tmp_path, "-k", "test_lots")
    assert (code, "21 failed" in said) == (1, True), said
    assert {file.read_text() for file in tmp_path.glob("test_lots*.tries")} == {"x"}


def test_every_long_proof_is_a_promise() -> None:
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    proofs = [str(path.relative_to(ROOT)) for path in files if has_long_form(path)]
    assert len(proofs) > 10
    assert [path for path in proofs if not is_promise(path)] == []


def test_every_pattern_of_promises_names_a_file() -> None:
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    assert [pattern for pattern in PROMISES if not any(fnmatch(path, pattern) for path in paths)] == []
