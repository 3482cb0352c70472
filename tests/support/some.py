"""As much of a table as `make test` looks at; `make test-all` looks at all of it."""

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

from tests.support.parts import choose_places, is_daily, shortened

Line = TypeVar("Line")


@shortened
def some(table: Iterable[Line], *, daily: int, offset: int = 0) -> list[Line]:
    """Return a table: in `make test` so many of its lines, spread evenly over it."""
    lines = list(table)
    return [lines[place] for place in choose_places(len(lines), daily, offset)] if is_daily() else lines


def some_cases(table: Iterable[Any], *, daily: int, why: str) -> list[Any]:
    """Return the cases of a test without a database; `make test` has so many, spread evenly, for this reason."""
    cases = list(table)
    kept = set(choose_places(len(cases), daily))
    rest = pytest.mark.rest(why)
    return [each if place in kept else leave_out(each, rest) for place, each in enumerate(cases)]


def leave_out(case: Any, rest: pytest.MarkDecorator) -> Any:
    """Leave a case, a tuple of values or one value, to `make test-all`."""
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=rest)
