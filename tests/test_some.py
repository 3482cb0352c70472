"""What `make test` takes of a table is spread over all of it, and what it leaves out has a reason."""

import pytest

from tests.support.parts import choose_places
from tests.support.some import some_cases


@pytest.mark.parametrize(
    ("count", "number", "offset", "places"),
    [(10, 4, 0, [0, 2, 5, 7]), (10, 4, 3, [3, 5, 8, 0]), (3, 3, 0, [0, 1, 2]), (3, 9, 1, [0, 1, 2]), (0, 2, 0, [])],
)
def test_places_are_spread_over_a_table(count: int, number: int, offset: int, places: list[int]) -> None:
    assert list(choose_places(count, number, offset)) == places


def test_every_case_stays_and_those_that_are_left_out_say_why() -> None:
    first, second, third, fourth = some_cases(["a", "b", (1, 2), (3, 4)], daily=2, why="is like another")

    assert (first, third) == ("a", (1, 2))
    assert (second.values, fourth.values) == (("b",), (3, 4))
    assert [mark.args for each in (second, fourth) for mark in each.marks] == [("is like another",)] * 2
