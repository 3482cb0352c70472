"""A cache stays only with a figure that says how many times as long its work takes without it."""

import re
from pathlib import Path

import pytest

from scripts.caches import list_caches, list_without_figure

ROW = re.compile(r"\| `(?P<path>[^`]+)` `(?P<name>\w+)` \| (?P<work>.+?) \|[^|]+\|[^|]+\| (?P<times>[\d.,]+) \|")


def test_every_cache_says_how_many_times_as_long_its_work_takes_without_it() -> None:
    assert list_without_figure() == []


def test_the_table_has_every_cache_with_the_figure_of_its_comment() -> None:
    page = (Path(__file__).parents[1] / "docs" / "performance.md").read_text("utf-8")
    table = {(each["path"], each["work"], each["times"]) for each in ROW.finditer(page)}

    assert {(each.path, each.work, each.times) for each in list_caches()} == table


@pytest.mark.parametrize(
    ("source", "has_figure"),
    [
        ("@cache\ndef find() -> int: ...", False),
        ("# It is slow.\n@lru_cache(maxsize=8)\ndef find() -> int: ...", False),
        ("# benchmarks/caches.py: a page, 1.9 times\n@cache\ndef find() -> int: ...", False),
        ("# benchmarks/caches.py: a page, 2.0 times\n@functools.cache\ndef find() -> int: ...", True),
        ("# benchmarks/caches.py: a page, 1,200 times\nfind = lru_cache(maxsize=8)(make)", True),
        ("class PageCache: ...", False),
        ("class Page:\n    @cached_property\n    def size(self) -> int: ...", False),
    ],
)
def test_a_cache_is_recognized_however_it_is_written(source: str, has_figure: bool, tmp_path: Path) -> None:
    (tmp_path / "pages.py").write_text(f"\n{source}\n")

    assert [each.has_figure for each in list_caches(tmp_path)] == [has_figure]
