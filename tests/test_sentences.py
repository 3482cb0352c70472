"""What others say is put into sentences of ours without the full stop that it may end with."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "openslot"
# What an operating system says ends with none.
WITHOUT = {"strerror", "filename"}


def doubled(code: str) -> Iterator[str]:
    """Find an exception that an f-string shows, alone or by what it has, directly before a full stop."""
    for handler in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ExceptHandler) and node.name):
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
    assert list(doubled(f"try: pass\nexcept OSError as fault: print(f'It fails: {shown}')")) == found


def test_no_sentence_ends_with_two_full_stops() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {words}"
        for path in sorted(ROOT.rglob("*.py"))
        for words in doubled(path.read_text("utf-8"))
    }

    assert found == set()
