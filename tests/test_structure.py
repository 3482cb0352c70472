"""The layout of the package: its figures stay within their bounds."""

import re

import pytest

from scripts.structure import (
    BOUNDS,
    ROOT,
    Bound,
    list_aliases,
    list_between_areas,
    list_kinds_of_aliases,
    list_prefixed,
)

# What a reader of a failure wants to see.
LISTED = {
    "files of domains with a prefix of another noun": list_prefixed,
    "imports between areas of web": list_between_areas,
    "aliases of modules, uses": list_aliases,
}


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.name)
def test_a_figure_is_within_its_bound(bound: Bound) -> None:
    listed = LISTED[bound.name]() if bound.name in LISTED else ()

    assert bound.measure() <= bound.at_most, listed


def test_each_figure_has_a_name_of_its_own() -> None:
    assert len({bound.name for bound in BOUNDS}) == len(BOUNDS)
    assert LISTED.keys() <= {bound.name for bound in BOUNDS}


def test_the_glossary_lists_the_aliases_of_modules() -> None:
    _, _, table = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("\n## Aliases of modules\n")

    assert re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| .+ \|$", table, re.MULTILINE) == list_kinds_of_aliases()
