"""A run says where its time went, and a script says what changed between two runs."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.durations import Timed, write_file, write_summary

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts/durations.py"
SLOW = Timed("tests/doors/web/admin/test_pages.py::test_slow", "browser", 3.0)
QUICK = Timed("tests/test_docs.py::test_quick", "pure", 0.5)


def test_seconds_are_added_up_by_kind_and_folder() -> None:
    kinds, folders, *slowest = write_summary([QUICK, SLOW, QUICK])

    assert kinds == "By kind: pure 1, database 0, one request 0, browser 3, processes 0"
    assert folders == "By folder: web 3, test_docs.py 1"
    assert next(line.split() for line in slowest) == ["3.0", SLOW.name, "(browser)"]


def test_two_runs_are_compared(tmp_path: Path) -> None:
    before, after = tmp_path / "results/before.json", tmp_path / "results/after.json"
    write_file(before, [QUICK, Timed(SLOW.name, "browser", 1.0)], part="daily")
    write_file(before, [Timed(SLOW.name, "browser", 2.0)], part="rest")
    write_file(after, [Timed(SLOW.name, "browser", 1.0)], part="daily")
    done = subprocess.run([sys.executable, SCRIPT, before, after], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()

    assert lines[0] == "2 → 1 tests, 4 → 1 s"
    assert "    -2.0 tests/doors/web/admin/test_pages.py::test_slow" in lines
    assert "    -0.5 tests/test_docs.py::test_quick (gone)" in lines


def test_a_run_without_two_files_says_how_to_use_it() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "BEFORE.json AFTER.json" in done.stderr


def test_make_gives_pytest_no_file_in_a_word_of_its_own() -> None:
    """A file that is there from the run before would be taken for tests to run."""
    calls = re.findall(r"bin/pytest|\$\(BIN\)/pytest(.*(?:\\\n.*)*)", (ROOT / "Makefile").read_text("utf-8"))

    assert any("--durations-to=" in call for call in calls)
    assert [call for call in calls if re.search(r"--[a-z-]+ [\w-]+/[\w.-]+", call)] == []
