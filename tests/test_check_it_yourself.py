"""The page "Check it yourself" names commands that can be run, tests that exist, and mutants that can be made."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from proofs.__main__ import PARTS
from proofs.guards import MUTANTS, Mutant
from proofs.mutants import QUICK
from tests.support.parts import has_long_form
from tests.support.promises import is_promise

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/check-it-yourself.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if "…" not in line]
RUN_TESTS = re.compile(r'(?:(?P<setting>\w+)=1 )?make unit TEST_ARGS="(?P<tests>[^"]+)"')
PROVE = re.compile(r'make prove(?: PARTS="([^"]+)")? *(?:#.*)?')
OTHERS = {"make bench", "make run", "make soak", ".venv/bin/python -m benchmarks.engine"}
# Their tests drive a browser, for which a busy machine is too slow now and then: one that fails is tried once more.
IN_BROWSER = {
    "tests/doors/web/test_accessibility.py",
    "tests/doors/web/test_browser.py",
    "tests/doors/web/booking_page/test_accessible.py",
    "tests/doors/web/booking_page/test_in_browser.py",
}
SECTIONS = re.findall(r"^###? ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)


def is_test(name: str) -> bool:
    """Tell whether this is a folder or file of tests, or a test in one."""
    path, _, function = name.partition("::")
    place = ROOT / path
    return place.exists() if not function else place.is_file() and f"def {function}(" in place.read_text("utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_run_as_it_is_written(command: str) -> None:
    if found := RUN_TESTS.fullmatch(command):
        names = found["tests"].split()
        assert [name for name in names if not is_test(name)] == []
        if setting := found["setting"]:
            assert setting == "OPENSLOT_LONG"
            assert any(map(has_long_form, list_files(names))), "none of them has a long form"
    elif found := PROVE.fullmatch(command):
        assert set((found[1] or "").split()) <= PARTS.keys()
    else:
        assert command in OTHERS


def list_files(names: Iterable[str]) -> list[Path]:
    """List the files of these tests, and what they share with others of their folders."""
    places = [ROOT / name.partition("::")[0] for name in names]
    return [path for place in places for path in (place, *place.parent.glob("cases.py")) if path.is_file()]


def test_every_promise_has_a_command_a_mutant_and_its_last_figures() -> None:
    promises = {title: text for title, text in SECTIONS if "```\n" in text}

    assert len(promises) > 25
    assert [title for title, text in promises.items() if "\nMutants: " not in text or "\nLast" not in text] == []


def list_named() -> set[str]:
    """List every file of tests that a command runs or that a mutant breaks."""
    runs = [found["tests"].split() for command in COMMANDS if (found := RUN_TESTS.fullmatch(command))]
    names = [*(name for each in runs for name in each), *(each.test for each in MUTANTS)]
    places = {ROOT / name.partition("::")[0] for name in names}
    files = {file for place in places for file in (place.rglob("test_*.py") if place.is_dir() else [place])}
    return {str(file.relative_to(ROOT)) for file in files}


def test_no_test_that_is_named_on_the_page_has_a_second_try_unless_it_drives_a_browser(
    request: pytest.FixtureRequest,
) -> None:
    named = list_named()

    assert len(named) > 80
    assert named > IN_BROWSER
    assert {path for path in named if not is_promise(path)} == set()
    # Of the tests of this run: by their marks, which are what counts.
    items = [(item, item.nodeid.partition("::")[0]) for item in request.session.items]
    tried_again = {path for item, path in items if path in named and item.get_closest_marker("promise") is None}
    assert tried_again <= IN_BROWSER


def test_every_part_of_the_proofs_is_on_the_page() -> None:
    named = {part for command in COMMANDS if (found := PROVE.fullmatch(command)) for part in (found[1] or "").split()}

    # The tests with a long count are named one by one.
    assert named == PARTS.keys() - {"tests"}


def test_every_mutant_is_on_the_page_and_no_other() -> None:
    before_the_table = PAGE.partition("<!-- mutants: begin -->")[0]
    lines = re.findall(r"^Mutants: (.*?)\nLast", before_the_table, re.MULTILINE | re.DOTALL)
    told = {name for line in lines for name in re.findall(r"`([^`]+)`", line) if "/" not in name and "." not in name}

    assert told - {"make check"} == {each.name for each in MUTANTS}
    assert set(QUICK) <= told


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant.name))
def test_every_mutant_can_be_made_and_has_a_test(mutant: Mutant) -> None:
    assert is_test(mutant.test)
    assert mutant.edits
    for edit in mutant.edits:
        assert (ROOT / edit.path).read_text("utf-8").count(edit.guard) == 1, edit.path
        assert edit.without != edit.guard
