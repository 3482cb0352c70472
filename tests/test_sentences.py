"""What others say is put into sentences of ours without the full stop that it may end with."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.support.sources import PACKAGE, list_modules, parse, read_source

# What an operating system says ends with none.
WITHOUT = {"strerror", "filename"}
# A module without both has nothing to be found, and need not be parsed.
NAMED, ENDED = re.compile(r"\bexcept\b.+\bas\b", re.DOTALL), re.compile(r"""\}(['"]+\s*f?['"]+)?\.""")


def doubled(tree: ast.Module) -> Iterator[str]:
    """Find an exception that an f-string shows, alone or by what it has, directly before a full stop."""
    for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name):
        for text in (node for node in ast.walk(handler) if isinstance(node, ast.JoinedStr)):
            for shown, after in pairwise(text.values):
                is_end = isinstance(after, ast.Constant) and str(after.value).startswith(".")
                if isinstance(shown, ast.FormattedValue) and is_end:
                    words = ast.unparse(shown.value)
                    named, _, part = words.partition(".")
                    if named == handler.name and part not in WITHOUT and "(" not in part:
                        yield words


@pytest.mark.parametrize(
    ("shown", "found"),
    [("{fault}.", ["fault"]), ("{fault.reason}. More", ["fault.reason"]), ("{reason(fault)}.", []), ("{fault}", [])],
)
def test_a_full_stop_after_an_exception_is_found(shown: str, found: list[str]) -> None:
    code = f"try: pass\nexcept OSError as fault: print(f'It fails: {shown}')"

    assert list(doubled(ast.parse(code))) == found


def test_no_sentence_ends_with_two_full_stops() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {words}"
        for path in list_modules()
        if NAMED.search(source := read_source(path)) and ENDED.search(source)
        for words in doubled(parse(path))
    }

    assert found == set()
