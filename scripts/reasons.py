"""Find steps that are left out with a sentence instead of a reason, which has a code and words in every language."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GIVERS = {"Skipped", "leave_unsent"}


def list_literal_skips(package: Path = ROOT / "openslot") -> list[str]:
    """List where a step is left out with a sentence, as `path:line`."""
    return [
        f"{path.relative_to(package.parent)}:{line}"
        for path in sorted(package.rglob("*.py"))
        for line in find_literal_skips(path.read_text())
    ]


def find_literal_skips(source: str) -> Iterator[int]:
    # Most modules leave nothing out, and parsing takes far longer than looking for a word.
    if not any(giver in source for giver in GIVERS):
        return
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in GIVERS:
            given = [part for argument in call.args for part in _list_values(argument)]
            if any(isinstance(each, ast.JoinedStr) or _is_text(each) for each in given):
                yield call.lineno


def _list_values(given: ast.expr) -> list[ast.expr]:
    if isinstance(given, ast.IfExp):
        return [*_list_values(given.body), *_list_values(given.orelse)]
    if isinstance(given, ast.BoolOp):
        return [part for each in given.values for part in _list_values(each)]
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "str":
        return [part for each in given.args for part in _list_values(each)]
    return [given]


def _is_text(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and isinstance(given.value, str)
