"""Each promise without its guard: a line of the product is changed in a copy, and the promise's test must fail."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from proofs.figures import Figure
from proofs.guards import MUTANTS, Mutant
from tests.support.parts import ALL, DAILY

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "data", "dist", "test-results", ".hypothesis", ".*_cache", ".coverage"
)
# In what pytest prints at its end: an error before or after a test, or a run that is too long, shows nothing.
FAILED = re.compile(r"^FAILED ", re.MULTILINE)
LONGEST, LONGEST_IN_ALL = 600, 1800
# A race that nobody guards does not happen every time.
TRIES = 3
# How many may need more than what people run every day.
LATE_PERCENT = 25
# The short form, which is a quick look at whether the machinery works.
QUICK = ("a stranger's booking", "a private address", "a clock that was read too early")


def prove(place: Path, *, short: bool) -> list[Figure]:
    """Run the test of each mutant in a copy of the repository, first as it is and then without its guard."""
    chosen = [each for each in MUTANTS if each.name in QUICK or not short]
    copies = [place / f"copy {number}" for number in range(1, 1 + (os.cpu_count() or 1))]
    for copy in copies:
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    tests = sorted({each.test for each in chosen})
    code, printed = _run(copies[0], tests, "--processes", str(len(copies)), longest=LONGEST_IN_ALL)
    if code:
        print(printed, file=sys.stderr)
    noticed = _list_noticed(copies, chosen)
    unnoticed = [name for name, part in noticed.items() if part is None]
    late = [name for name, part in noticed.items() if part == ALL]
    for name in unnoticed:
        print(f"No test has noticed: {name}", file=sys.stderr)
    for name in late:
        print(f"Only make test-all has noticed: {name}", file=sys.stderr)
    return [
        Figure("mutants", len(chosen)),
        Figure("mutants that no test has noticed", len(unnoticed), at_most=0),
        Figure("mutants that only make test-all has noticed", len(late), at_most=len(chosen) * LATE_PERCENT // 100),
        Figure("runs that fail without a mutant", int(code != 0), at_most=0),
    ]


def _list_noticed(copies: Sequence[Path], chosen: Sequence[Mutant]) -> dict[str, str | None]:
    """Try mutants in as many copies at once as there are, each in one that no other is in."""
    free: SimpleQueue[Path] = SimpleQueue()
    for each in copies:
        free.put(each)

    def find_part(wanted: Mutant) -> str | None:
        copy = free.get()
        try:
            return _find_part(copy, wanted)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        found = pool.map(find_part, chosen)
        return {each.name: part for each, part in zip(chosen, found, strict=True)}


def _find_part(copy: Path, wanted: Mutant) -> str | None:
    """Tell which part of the tests notices a mutant: that of `make test`, only all of them, or none."""
    before = {edit.path: (copy / edit.path).read_text("utf-8") for edit in wanted.edits}
    try:
        for edit in wanted.edits:
            file = copy / edit.path
            file.write_text(file.read_text("utf-8").replace(edit.guard, edit.without), "utf-8")
        parts = (DAILY, *(ALL for _ in range(TRIES)))
        return next((part for part in parts if _is_noticed(copy, wanted, part)), None)
    finally:
        for path, text in before.items():
            (copy / path).write_text(text, "utf-8")


def _is_noticed(copy: Path, wanted: Mutant, part: str) -> bool:
    return FAILED.search(_run(copy, [wanted.test], "--exitfirst", "--part", part)[1]) is not None


def _run(copy: Path, tests: Sequence[str], *options: str, longest: int = LONGEST) -> tuple[int, str]:
    """Run tests in the copy, and return pytest's exit code and what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, check=False, timeout=longest, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return 1, f"The tests took longer than {longest} s."
    return done.returncode, done.stdout
