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

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "data", "dist", "test-results", ".hypothesis", ".*_cache", ".coverage"
)
# In what pytest prints at its end: an error before or after a test, or a run that is too long, shows nothing.
FAILED = re.compile(r"^FAILED ", re.MULTILINE)
LONGEST, LONGEST_IN_ALL = 600, 1800
# A race that nobody guards does not happen every time.
TRIES = 3
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
    unnoticed = _list_unnoticed(copies, chosen)
    for name in unnoticed:
        print(f"No test has noticed: {name}", file=sys.stderr)
    return [
        Figure("mutants", len(chosen)),
        Figure("mutants that no test has noticed", len(unnoticed), at_most=0),
        Figure("runs that fail without a mutant", int(code != 0), at_most=0),
    ]


def _list_unnoticed(copies: Sequence[Path], chosen: Sequence[Mutant]) -> list[str]:
    """Try mutants in as many copies at once as there are, each in one that no other is in."""
    free: SimpleQueue[Path] = SimpleQueue()
    for each in copies:
        free.put(each)

    def is_noticed(wanted: Mutant) -> bool:
        copy = free.get()
        try:
            return _is_noticed(copy, wanted)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        noticed = pool.map(is_noticed, chosen)
        return [each.name for each, found in zip(chosen, noticed, strict=True) if not found]


def _is_noticed(copy: Path, wanted: Mutant) -> bool:
    before = {edit.path: (copy / edit.path).read_text("utf-8") for edit in wanted.edits}
    try:
        for edit in wanted.edits:
            file = copy / edit.path
            file.write_text(file.read_text("utf-8").replace(edit.guard, edit.without), "utf-8")
        return any(FAILED.search(_run(copy, [wanted.test], "--exitfirst")[1]) for _ in range(TRIES))
    finally:
        for path, text in before.items():
            (copy / path).write_text(text, "utf-8")


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
