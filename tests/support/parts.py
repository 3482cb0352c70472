"""Which tests `make test` runs, and which only `make test-all`; and how much less of some `make test` runs.

A test is left to `make test-all` by its folder, by the mark `rest` with a reason, or by what it asks for: a browser, an
installation, a backup. Of a test that asks the database in many cases, `make test` runs two. The mark `daily` brings
them back. Others run in both, shorter in `make test`: whatever draws examples, and every walk that opens each page of
an area in a browser (`shortened`).
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.promises import BROWSER

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests/only_in_test_all.txt"
LONG = os.environ.get("OPENSLOT_LONG") == "1"
DAILY, REST, ALL = "daily", "rest", "all"
# Folders whose tests build, install, start and stop whole installations, or look at what releases have recorded.
FOLDERS = {
    "tests/packaging": "builds and installs what is published",
    "tests/journeys": "starts and kills whole installations",
    "tests/proofs": "runs a short form of a drill",
    "tests/upgrades": "compares with what releases have recorded",
}
# What tests ask for. But walks, which open each page once and are `shortened`, run in `make test`, too.
FIXTURES = {
    BROWSER: "drives a browser; walks in make test open each page in one",
    "furnished": "starts commands on an installation with demo data",
    "empty": "starts commands on an installation of its own",
    "made_backup": "makes and restores backups",
}
DATABASE = "postgres"
CASES = 2
OF_CASES = "asks the database in another case"
SHORTER_BY = 4
NAMES = {DAILY: "make test", REST: "the rest of make test-all"}
OUTCOMES = ("passed", "failed", "error", "skipped")
REASONS = pytest.StashKey[Mapping[str, str | None]]()

Shortened = TypeVar("Shortened", bound=Callable[..., object])
_chosen = ALL


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a part of the tests be chosen, and the list of what only `make test-all` runs be written."""
    parser.addoption(
        "--part", choices=(DAILY, REST, ALL), default=ALL, help="run the tests of `make test`, or the rest"
    )
    parser.addoption("--list-rest", type=Path, help="write the tests that only `make test-all` runs into this file")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Know the part before any test is imported."""
    global _chosen  # noqa: PLW0603
    _chosen = config.getoption("part")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the other part out."""
    reasons = config.stash[REASONS] = {item.nodeid: find_reason(item) for item in items}
    for names in list_cases(items, reasons):
        chosen = {names[place] for place in choose_places(len(names), CASES)}
        reasons.update((name, OF_CASES) for name in names if name not in chosen)
    if place := config.getoption("list_rest"):
        place.write_text("".join(f"{line}\n" for line in write_list(reasons)), "utf-8")
    if _chosen == ALL:
        return
    kept = [item for item in items if is_wanted(item, reasons[item.nodeid])]
    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(item, reasons[item.nodeid])])
    items[:] = kept


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with one line on the part."""
    if _chosen != ALL:
        counts = ", ".join(f"{len(terminalreporter.getreports(each))} {each}" for each in OUTCOMES)
        terminalreporter.section("Result")
        terminalreporter.line(f"{NAMES[_chosen]}: {counts}")


def is_wanted(item: pytest.Item, reason: str | None) -> bool:
    """Tell whether the chosen part has a test."""
    if _chosen == DAILY:
        return reason is None
    return reason is not None or is_shortened(item)


def is_whole(config: pytest.Config) -> bool:
    """Tell whether all tests were collected for this run, whichever part of them is run."""
    return config.args == config.getini("testpaths") and not config.option.keyword and not config.option.markexpr


def is_daily() -> bool:
    """Tell whether these are the tests of `make test`."""
    return _chosen == DAILY


def how_many(usual: int, *, long: int | None = None) -> int:
    """Return how many examples to draw: a quarter of the usual number in `make test`, more with OPENSLOT_LONG."""
    if LONG:
        return usual if long is None else long
    return max(1, usual // SHORTER_BY) if is_daily() else usual


def has_long_form(file: Path) -> bool:
    """Tell whether the tests of a file do more with OPENSLOT_LONG."""
    return re.search(r"import .*\bLONG\b|\bhow_many\([^)]*long=", file.read_text("utf-8")) is not None


def shortened(helper: Shortened) -> Shortened:
    """Mark what does less in `make test`: tests that call it run whole in the rest of `make test-all`."""
    helper.is_shortened = True  # type: ignore[attr-defined]
    return helper


def find_reason(item: pytest.Item) -> str | None:
    """Say why only `make test-all` runs a test; None if `make test` does."""
    if mark := item.get_closest_marker("rest"):
        (reason,) = mark.args
        return str(reason)
    if item.get_closest_marker("daily"):
        return None
    asked = [] if is_shortened(item) else getattr(item, "fixturenames", ())
    of_fixtures = [reason for name, reason in FIXTURES.items() if name in asked]
    of_folders = [reason for folder, reason in FOLDERS.items() if item.nodeid.startswith(f"{folder}/")]
    return next(iter(of_fixtures + of_folders), None)


def list_cases(items: Iterable[pytest.Item], reasons: Mapping[str, str | None]) -> Iterable[list[str]]:
    """List the cases of each test that asks the database, if nothing else leaves out, shortens or keeps it."""
    cases: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        is_free = reasons[item.nodeid] is None and not item.get_closest_marker("daily") and not is_shortened(item)
        if is_free and DATABASE in getattr(item, "fixturenames", ()):
            cases[item.nodeid.partition("[")[0]].append(item.nodeid)
    return cases.values()


def choose_places(count: int, number: int, offset: int = 0) -> Sequence[int]:
    """Choose so many of some places, spread evenly."""
    if number >= count:
        return range(count)
    return [(place * count // number + offset) % count for place in range(number)]


def is_shortened(item: pytest.Item) -> bool:
    """Tell whether a test does less in `make test`: it draws examples, or calls what is `shortened`."""
    function = getattr(item, "function", None)
    if getattr(function, "is_hypothesis_test", False):
        return True
    names = vars(getattr(item, "module", object))
    # Numbers of examples are mostly constants of the file.
    if "how_many" in names:
        return True
    called = getattr(getattr(function, "__code__", None), "co_names", ())
    return any(getattr(names.get(name), "is_shortened", False) for name in called)


def write_list(reasons: Mapping[str, str | None]) -> Iterator[str]:
    """Write which tests only `make test-all` runs, and why: one line for a file of which `make test` runs none."""
    for path, names in groupby(sorted(reasons), key=lambda name: name.partition("::")[0]):
        of_tests: defaultdict[str, set[str | None]] = defaultdict(set)
        for name in names:
            of_tests[name.partition("[")[0]].add(reasons[name])
        found = set().union(*of_tests.values())
        if len(found) == 1:
            yield from (f"{path}: {reason}" for reason in found if reason)
            continue
        for name, given in of_tests.items():
            part = " in part" if None in given else ""
            yield from (f"{name}{part}: {reason}" for reason in sorted(filter(None, given)))
